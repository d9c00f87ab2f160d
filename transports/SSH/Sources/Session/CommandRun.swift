import Byway
import Logging
import NIOCore

/// The error output of a command on the remote host: each line is logged, and the last one usually gives the reason of its end.
/// Lives on the connection's event loop.
final class CommandRun {
  /// The rest of a longer line is dropped.
  private static let lineLimit = 1_000

  private let command: String
  private let explain: SSHFailure
  private let logger: Logger
  private var line: [UInt8] = []
  private var lastLine: String?
  var hasSent = false

  init(_ command: String, failure: SSHFailure, logger: Logger) {
    self.command = command
    explain = failure
    self.logger = logger
  }

  func log(_ bytes: ByteBuffer) {
    for byte in bytes.readableBytesView {
      if byte == UInt8(ascii: "\n") {
        finishLine()
      } else if line.count < Self.lineLimit {
        line.append(byte)
      }
    }
  }

  private func finishLine() {
    let text = String(decoding: line, as: UTF8.self).onOneLine
    line.removeAll(keepingCapacity: true)
    guard !text.isEmpty else { return }
    lastLine = text
    logger.notice("\(explain.server): \(text)")
  }

  /// The error of the command's end; `nil` if it ended well.
  func failure(_ exit: SSHChannel.Exit) -> BywayError? {
    finishLine()
    return explain.ended(command, exit, lastWords: lastLine, hasSent: hasSent)
  }
}
