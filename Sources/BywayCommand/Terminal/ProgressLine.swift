import Byway
import NIOCore
import Synchronization

/// The one progress line of a transfer on a terminal: first what is sent, then what is received.
///
/// Safe on any thread.
final class ProgressLine: Sendable {
  private let terminal: StandardStream
  private let meter = Mutex<ProgressMeter?>(nil)

  init(on terminal: StandardStream) {
    self.terminal = terminal
  }

  deinit { clear() }

  /// Begins to measure another body; what was shown of the one before goes away.
  func begin(total: Int?) {
    clear()
    meter.withLock { $0 = ProgressMeter(total: total, width: terminal.width, at: .now()) }
  }

  /// The same by what is there in all, of something that may have begun another time.
  func show(received: Int, total: Int?) {
    let line = meter.withLock { meter -> String? in
      if let known = meter?.bytes, received >= known { return meter?.add(received - known, at: .now()) }
      // It has begun, or started over.
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

  /// The same body, measured as it is read.
  func measuring(_ body: Body) -> Body {
    body.measured { bytes in
      if let bytes { self.add(bytes) }
    }
  }
}
