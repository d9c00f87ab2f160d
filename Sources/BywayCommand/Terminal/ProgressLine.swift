import Byway
import BywayTerminal
import NIOCore
import Synchronization

/// The progress line of a transfer on a terminal: first of the sent body, then of the received one.
///
/// Safe on any thread.
final class ProgressLine: Sendable {
  private let terminal: StandardStream
  private let meter = Mutex<ProgressMeter?>(nil)

  init(on terminal: StandardStream) {
    self.terminal = terminal
  }

  deinit { clear() }

  /// Begins to measure another body, and clears the line of the previous one.
  func begin(total: Int?) {
    clear()
    meter.withLock { $0 = ProgressMeter(total: total, width: terminal.width, at: .now()) }
  }

  /// Shows the total amount of data, some of which may be from an earlier transfer.
  func show(received: Int, total: Int?) {
    let line = meter.withLock { meter -> String? in
      if let known = meter?.bytes, received >= known { return meter?.add(received - known, at: .now()) }
      // The download has begun, or started over.
      meter = ProgressMeter(total: total, from: received, width: terminal.width, at: .now())
      return nil
    }
    if let line { terminal.writeText("\r\u{1B}[K\(line)") }
  }

  func add(_ bytes: Int) {
    guard let line = meter.withLock({ $0?.add(bytes, at: .now()) }) else { return }
    terminal.writeText("\r\u{1B}[K\(line)")
  }

  func clear() {
    let wasShown = meter.withLock { $0.take()?.isShown } ?? false
    if wasShown { terminal.writeText("\r\u{1B}[K") }
  }

  /// Returns the body with a measurement of its reading.
  func measuring(_ body: Body) -> Body {
    body.measured { bytes in
      if let bytes { self.add(bytes) }
    }
  }
}
