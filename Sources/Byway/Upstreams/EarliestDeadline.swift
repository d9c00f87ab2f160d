import NIOCore

/// A timer for many deadlines, which their owners keep. It fires at the earliest deadline that it was given.
///
/// Lives on its event loop.
final class EarliestDeadline {
  private var earliest = NIODeadline.distantFuture
  private let eventLoop: any EventLoop
  private let fired: () -> Void
  private lazy var timer = LazyTimer(on: eventLoop) { [unowned self] in
    earliest = .distantFuture
    fired()
  }

  /// - Parameter fired: notes all deadlines that are still pending; should refer to the owner `unowned`.
  init(on eventLoop: any EventLoop, fired: @escaping () -> Void) {
    self.eventLoop = eventLoop
    self.fired = fired
  }

  func note(_ deadline: NIODeadline?) {
    guard let deadline, deadline < earliest else { return }
    earliest = deadline
    timer.set(deadline)
  }

  /// Forgets all deadlines.
  func clear() {
    earliest = .distantFuture
    timer.cancel()
  }
}
