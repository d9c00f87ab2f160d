import NIOCore
import Synchronization

/// Measures a round trip once a second.
///
/// Safe on any thread.
final class DemoProbe: Sendable {
  private struct State {
    var last: TimeAmount?
    var sentAt: NIODeadline?
  }

  private static let pause = Duration.seconds(1)
  private let state = Mutex(State())

  /// The latest round trip, or the age of the pending one once that is greater; `nil` if the last one failed.
  var latency: TimeAmount? {
    state.withLock { state in
      guard let last = state.last else { return nil }
      return state.sentAt.map { max(.now() - $0, last) } ?? last
    }
  }

  /// Measures until its task is cancelled.
  func run(_ ping: @Sendable () async throws -> TimeAmount) async {
    while !Task.isCancelled {
      state.withLock { $0.sentAt = .now() }
      let roundTrip = try? await ping()
      state.withLock { $0 = State(last: roundTrip) }
      try? await Task.sleep(for: Self.pause)
    }
  }
}
