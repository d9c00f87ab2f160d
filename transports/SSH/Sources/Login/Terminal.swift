import Byway
import BywayLibC
import BywayPrimitives
import NIOCore

/// The controlling terminal, for the time of one question. Blocks. Handles one question at a time.
///
/// The terminal's echo is off while an answer is hidden. It is restored at the end of the question, and whenever the process ends,
/// except by SIGKILL.
struct Terminal: ~Copyable {
  private static let maximumLength = 1024
  /// The interval in milliseconds at which a cancellation is noticed.
  private static let patience: CInt = 200

  private let descriptor: CInt

  /// Returns `nil` if there is no terminal, or it belongs to another job: using it would stop this process.
  init?(path: String = "/dev/tty") {
    let terminal = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard terminal >= 0 else { return nil }
    guard isatty(terminal) == 1, tcgetpgrp(terminal) == getpgrp() else {
      close(terminal)
      return nil
    }
    descriptor = terminal
  }

  deinit {
    EchoGuard.restore()
    close(descriptor)
  }

  /// - Returns: `nil` if the user ends the input instead (Ctrl-D).
  func ask(
    _ question: String, echo: Bool, until deadline: NIODeadline, isCancelled: () -> Bool
  ) throws(BywayError) -> Secret? {
    if !echo { EchoGuard.begin(on: descriptor) }
    say(question.visible)
    defer { if !echo { say("\n") } }
    var line: [UInt8] = []
    defer { line.wipe() }
    line.reserveCapacity(Self.maximumLength)
    while true {
      if isCancelled() { throw BywayError(.cancelled, "The request was cancelled by its caller.", processing: .none) }
      guard NIODeadline.now() < deadline else {
        throw BywayError(
          .linkUnavailable, "There was no answer to \"\(question.visible)\" in time.", processing: .none)
      }
      // After the job was stopped, the shell has turned the echo on again.
      if !echo { EchoGuard.hide() }
      guard let byte = nextByte() else { continue }
      switch byte {
      case .end where line.isEmpty: return nil
      case .end, .byte(0x0A), .byte(0x0D): return Secret(line)
      case .byte(let byte): if line.count < Self.maximumLength { line.append(byte) }
      }
    }
  }

  private enum Input { case end, byte(UInt8) }

  /// Returns `nil` if no input arrived for a while.
  private func nextByte() -> Input? {
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    // A process in the background would be stopped if it read.
    guard tcgetpgrp(descriptor) == getpgrp() else {
      poll(nil, 0, Self.patience)
      return nil
    }
    guard poll(&ready, 1, Self.patience) > 0 else { return nil }
    var byte: UInt8 = 0
    switch read(descriptor, &byte, 1) {
    case 1: return .byte(byte)
    case 0: return .end
    default: return errno == EAGAIN || errno == EINTR ? nil : .end
    }
  }

  private func say(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(descriptor, bytes, bytes.count)
  }
}
