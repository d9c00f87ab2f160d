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

  /// The latest answer's, or how long the next one has kept us waiting, once that is more. `nil`: none came.
  var latency: TimeAmount? {
    state.withLock { state in
      guard let last = state.last else { return nil }
      return state.sentAt.map { max(.now() - $0, last) } ?? last
    }
  }

  /// Until its task is cancelled.
  func run(_ ping: @Sendable () async throws -> TimeAmount) async {
    while !Task.isCancelled {
      state.withLock { $0.sentAt = .now() }
      let roundTrip = try? await ping()
      state.withLock { $0 = State(last: roundTrip) }
      try? await Task.sleep(for: Self.pause)
    }
  }
}
