package import NIOCore
import Synchronization

/// What an examination has opened: closed when it is over, the last first, however it ends. Safe on any thread.
package final class Belongings: Sendable {
  package typealias Release = @Sendable () async -> Void

  private enum State {
    case open([Release])
    case over
  }

  private let state = Mutex(State.open([]))

  package init() {}

  /// - Parameter release: called once, soon where the examination is over already: a check that was given up goes on for a while.
  package func add(_ release: @escaping Release) {
    let isLate = state.withLock { state in
      guard case .open(let releases) = state else { return true }
      state = .open(releases + [release])
      return false
    }
    if isLate { Task { await release() } }
  }

  package func add(_ channel: any Channel) {
    add { try? await channel.close().get() }
  }

  /// Opens a channel, which is closed with the rest, also where it opens after its check was given up: ``release()`` waits for that.
  package func channel(_ open: @escaping @Sendable () async throws -> any Channel) async throws -> any Channel {
    let opening = state.withLock { state -> Task<any Channel, any Error>? in
      guard case .open(let releases) = state else { return nil }
      let opening = Task { try await open() }
      state = .open(releases + [{ try? await opening.value.close().get() }])
      return opening
    }
    guard let opening else { throw CancellationError() }
    return try await opening.value
  }

  /// Returns when all is closed.
  package func release() async {
    let releases = state.withLock { state -> [Release] in
      guard case .open(let releases) = state else { return [] }
      state = .over
      return releases
    }
    for release in releases.reversed() { await release() }
  }
}
