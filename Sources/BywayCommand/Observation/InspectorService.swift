import Byway
import BywayInspector
import BywayProxy
import Logging

/// A daemon's inspector while it is served: its address, and a poll of the links once a second.
final class InspectorService: Sendable {
  private static let pause = Duration.seconds(1)

  private let server: LocalServer
  private let looking: Task<Void, Never>
  /// The URL of its page, which allows viewing only.
  let place: String
  /// The same URL with the secret that allows actions.
  let url: String

  /// - Parameter links: Returns the current links.
  /// - Throws: `BywayError` if it cannot listen on the address.
  init(
    _ feed: InspectorFeed, on listen: Link, logger: Logger, links: @escaping @Sendable () async -> [LinkSight]
  ) async throws {
    server = try await LocalServer.start(on: listen, logger: logger) { try await feed.respond(to: $0) }
    place = ListenAddress.url(server.address)
    url = "\(place)/#\(feed.token)"
    looking = Task {
      while !Task.isCancelled {
        feed.look(await links())
        try? await Task.sleep(for: Self.pause)
      }
    }
  }

  func stop() async {
    looking.cancel()
    await looking.value
    await server.stop()
  }
}

extension LinkSight {
  /// Returns the records of each link to a device that has several.
  static func all(of link: DaemonStatus.Road) -> [LinkSight] {
    link.all.map { road in
      let isUp = road.state == .link(.up) || road.state == .link(.interrupted)
      return LinkSight(
        name: link.device ?? road.name, address: road.name, state: road.state.text, since: road.since,
        reason: road.reason, running: link.connections.active, openings: road.counts?.openings,
        losses: road.counts?.losses,
        // The line of the connection in use.
        line: isUp ? link.line : nil)
    }
  }
}
