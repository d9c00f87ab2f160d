package import NIOCore

/// A timer for a deadline that moves often and rarely passes. Uses one scheduled task, which checks the deadline again when it fires.
///
/// Lives on its event loop.
package final class LazyTimer {
  /// The state that the scheduled task holds. A weak reference to the timer instead would make every use of the timer slow.
  private final class Watch {
    let eventLoop: any EventLoop
    var fired: (() -> Void)?
    var deadline = NIODeadline.distantFuture
    var scheduled: Scheduled<Void>?
    var scheduledFor = NIODeadline.distantFuture

    init(_ eventLoop: any EventLoop) {
      self.eventLoop = eventLoop
    }

    func schedule() {
      scheduled?.cancel()
      scheduledFor = deadline
      // A deadline in the past is due now: a loop in virtual time would go back for it.
      scheduled = eventLoop.assumeIsolated().scheduleTask(deadline: max(deadline, eventLoop.now)) { self.look() }
    }

    func look() {
      scheduled = nil
      scheduledFor = .distantFuture
      guard deadline < .distantFuture else { return }
      if deadline <= eventLoop.now {
        deadline = .distantFuture
        fired?()
      } else {
        schedule()
      }
    }
  }

  private let watch: Watch

  package init(on eventLoop: any EventLoop) {
    watch = Watch(eventLoop)
  }

  /// - Parameter fired: called after a deadline has passed: ``fired``.
  package convenience init(on eventLoop: any EventLoop, fired: @escaping () -> Void) {
    self.init(on: eventLoop)
    self.fired = fired
  }

  /// Called when the current deadline has passed, never after the owner has released the timer; it should refer to the owner `unowned`.
  package var fired: (() -> Void)? {
    get { watch.fired }
    set { watch.fired = newValue }
  }

  deinit {
    watch.fired = nil
    watch.scheduled?.cancel()
  }

  /// Moves the deadline; `nil` clears it.
  package func set(_ deadline: NIODeadline?) {
    watch.deadline = deadline ?? .distantFuture
    if watch.deadline < watch.scheduledFor { watch.schedule() }
  }

  package func cancel() {
    watch.deadline = .distantFuture
    watch.scheduled?.cancel()
    watch.scheduled = nil
    watch.scheduledFor = .distantFuture
  }
}
