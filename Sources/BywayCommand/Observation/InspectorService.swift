import Byway
import BywayInspector
import BywayProxy
import Logging

/// A daemon's inspector, while it serves: its address, and a look at the links once a second.
final class InspectorService: Sendable {
  private static let pause = Duration.seconds(1)

  private let server: LocalServer
  private let looking: Task<Void, Never>
  /// Its page, to look at.
  let place: String
  /// The same with what it takes to act there.
  let url: String

  /// - Parameter links: as they are now.
  /// - Throws: `BywayError` where the address cannot be listened on.
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
  /// Each road of a device, where it has several.
  static func all(of link: DaemonStatus.Road) -> [LinkSight] {
    link.all.map { road in
      let isUp = road.state == .link(.up) || road.state == .link(.interrupted)
      return LinkSight(
        name: link.device ?? road.name, address: road.name, state: road.state.text, since: road.since,
        reason: road.reason, running: link.connections.active, openings: road.counts?.openings,
        losses: road.counts?.losses,
        // The line that the connection in use goes over.
        line: isUp ? link.line : nil)
    }
  }
}
