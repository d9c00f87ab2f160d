import Byway
@preconcurrency import Dispatch
import FoundationNetworking

/// The two time limits of a task that Foundation leaves to its protocols: the longest silence, and the longest duration.
///
/// `@unchecked Sendable`: used on the task's work queue only, where its timer also fires.
final class Timeouts: @unchecked Sendable {
  let activity: ProgressClock
  private let idle: Double
  private let total: Double
  private var started: UInt64 = 0
  private var timer: (any DispatchSourceTimer)?

  /// The maximum interval between two checks, in seconds.
  private static let longest = 3600.0

  init(_ request: URLRequest, _ configuration: URLSessionConfiguration, _ activity: ProgressClock) {
    self.activity = activity
    // A request always has a timeout. One that differs from the default was set by the app, and takes precedence.
    let isSet = request.timeoutInterval != URLRequest.defaultTimeout
    idle = isSet ? request.timeoutInterval : configuration.timeoutIntervalForRequest
    total = configuration.timeoutIntervalForResource
  }

  /// - Parameter expired: called on the queue, repeatedly until the load ends.
  func start(on queue: DispatchQueue, expired: @escaping @Sendable (BywayError) -> Void) {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    started = DispatchTime.now().uptimeNanoseconds
    activity.note()
    timer.setEventHandler { [weak self] in self?.check(expired) }
    timer.schedule(deadline: .now() + min(idle, total, Self.longest))
    timer.resume()
    self.timer = timer
  }

  private func check(_ expired: (BywayError) -> Void) {
    let elapsed = Double(DispatchTime.now().uptimeNanoseconds - started) * 1e-9
    let rest = min(idle - activity.idle, total - elapsed)
    if elapsed >= total {
      expired(BywayError(.timedOut, "The transfer took longer than the \(total) s of timeoutIntervalForResource."))
    } else if rest <= 0 {
      expired(BywayError(.timedOut, "Nothing arrived for \(idle) s, the request's timeout."))
    }
    // A load that continues after that is suspended, and is checked again later.
    timer?.schedule(deadline: .now() + (rest > 0 ? min(rest, Self.longest) : 1))
  }

  func cancel() {
    timer?.cancel()
    timer = nil
  }
}

extension URLRequest {
  static let defaultTimeout = 60.0
}
