package import Byway
package import BywayInspector
import BywayProxy
package import Logging

/// A daemon's inspector while it is served: its address, and a poll of the links once a second.
package final class InspectorService: Sendable {
  private static let pause = Duration.seconds(1)

  private let server: LocalServer
  private let looking: Task<Void, Never>
  /// The URL of its page, which allows viewing only.
  package let place: String
  /// The same URL with the secret that allows actions.
  package let url: String

  /// - Parameter links: Returns the current links.
  /// - Throws: `BywayError` if it cannot listen on the address.
  package init(
    _ feed: InspectorFeed, on listen: Link, logger: Logger, links: @escaping @Sendable () async -> [LinkSnapshot]
  ) async throws {
    server = try await LocalServer.start(on: listen, logger: logger) { try await feed.respond(to: $0) }
    place = server.address.clientURL
    url = "\(place)/#\(feed.token)"
    looking = Task {
      while !Task.isCancelled {
        feed.look(await links())
        try? await Task.sleep(for: Self.pause)
      }
    }
  }

  package func stop() async {
    looking.cancel()
    await looking.value
    await server.stop()
  }
}

extension LinkSnapshot {
  /// Returns the records of each link to a device that has several. Their names differ: the page and the history know a link by its name.
  package static func all(of link: DaemonStatus.Link) -> [LinkSnapshot] {
    link.all.map { each in
      let isUp = each.state == .link(.up) || each.state == .link(.interrupted)
      let name = link.device.map { link.links.isEmpty ? $0 : "\($0) (\(each.name))" }
      return LinkSnapshot(
        name: name ?? each.name, address: each.name, upstream: link.links.isEmpty || isUp ? link.upstream : nil,
        state: each.state.text,
        since: each.since, reason: each.reason, openings: each.counts?.openings, losses: each.counts?.losses,
        // The line of the connection in use.
        line: isUp ? link.line : nil)
    }
  }
}
