package import NIOCore
import Synchronization

/// The resources that an examination has opened: closed in reverse order when it is over, however it ends. Safe on any thread.
package final class OpenedResources: Sendable {
  package typealias Release = @Sendable () async -> Void

  private enum State {
    case open([Release])
    case over
  }

  private let state = Mutex(State.open([]))

  package init() {}

  /// Adds a resource.
  /// - Parameter release: called once. If the examination is over already, it is called at once: a check that was given up may still run.
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

  /// Opens a channel, which is closed with the rest, even if it opens after its check was given up: ``release()`` waits for it.
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

  /// Closes everything, and returns when that is done.
  package func release() async {
    let releases = state.withLock { state -> [Release] in
      guard case .open(let releases) = state else { return [] }
      state = .over
      return releases
    }
    for release in releases.reversed() { await release() }
  }
}
