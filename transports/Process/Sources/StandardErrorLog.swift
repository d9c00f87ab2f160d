import Byway
import BywayPrimitives
import Logging
import NIOCore
import Synchronization

/// Logs a child's standard error line by line, and keeps the last line, which usually gives the reason why the child ended.
/// Safe on any thread.
final class StandardErrorLog: Sendable {
  /// The maximum line length; the rest of a line is dropped.
  static let lineLimit = 1_000

  private let name: String
  private let logger: Logger
  private let last = Mutex<String?>(nil)

  init(name: String, logger: Logger) {
    self.name = name
    self.logger = logger
  }

  var lastLine: String? { last.withLock { $0 } }

  func append(_ line: String) {
    guard !line.isEmpty else { return }
    last.withLock { $0 = line }
    logger.notice("\(name): \(line)")
  }
}

extension Channel {
  func addStandardErrorHandler(_ log: StandardErrorLog) -> EventLoopFuture<Void> {
    eventLoop.makeCompletedFuture {
      try pipeline.syncOperations.addHandler(StandardErrorHandler(log: log))
    }
  }
}

private final class StandardErrorHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let log: StandardErrorLog
  private var line: [UInt8] = []
  private var isCut = false

  init(log: StandardErrorLog) {
    self.log = log
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    for byte in unwrapInboundIn(data).readableBytesView {
      switch byte {
      case UInt8(ascii: "\n"): finishLine()
      case UInt8(ascii: "\r"): break
      case _ where line.count == StandardErrorLog.lineLimit: isCut = true
      default: line.append(byte)
      }
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    finishLine()
    context.fireChannelInactive()
  }

  private func finishLine() {
    log.append(String(decoding: line, as: UTF8.self).visible + (isCut ? "…" : ""))
    line.removeAll(keepingCapacity: true)
    isCut = false
  }
}
