public import Byway
public import BywayGateway
public import BywayProxy
public import ServiceLifecycle

// Gateways, proxies and clients are services of a `ServiceGroup`. They are started before, and the group ends them.

extension Gateway: Service {
  /// Returns when the gateway has ended: after the graceful shutdown of its group, or with its last link.
  ///
  /// A graceful shutdown accepts no more links and lets running requests finish. A cancellation closes them.
  /// - Throws: the reason that it cannot accept links any more.
  public func run() async throws {
    try await Serving(until: waitUntilEnded, stop: stop(within:)).run()
  }
}

extension Proxy: Service {
  /// Returns when the proxy has ended, after the graceful shutdown of its group.
  ///
  /// A graceful shutdown accepts no more connections and lets running requests finish. A cancellation closes them.
  /// - Throws: the reason that it cannot accept connections any more.
  public func run() async throws {
    try await Serving(until: waitUntilEnded, stop: stop(within:)).run()
  }
}

extension BywayClient: Service {
  /// Returns when the client has shut down, after the graceful shutdown of its group.
  ///
  /// A group shuts its services down in reverse order, so a client that comes first in it serves the others to their end.
  public func run() async throws {
    try? await gracefulShutdown()
    // Also after a cancellation.
    await Task { await shutDown() }.value
  }
}
