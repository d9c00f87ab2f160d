import Byway
import BywayDoctor
import BywayLineLayer
import NIOCore

/// Pings a link over its own connection, or through the proxy that has the link's port open.
actor LinkPinger {
  private enum Way {
    case own
    case through(LinkProxy)
  }

  private let client: BywayClient
  private let transports: TransportRegistry
  private var way = Way.own
  /// The latest facts about the line; empty if there is no line.
  private(set) var lineFacts: [String] = []

  init(_ link: Link, in transports: TransportRegistry) {
    var configuration = BywayClient.Configuration.defaults
    configuration.patience = .zero
    client = BywayClient(link, configuration: configuration)
    self.transports = transports
  }

  /// The proxy's address, if the pings go through one.
  var proxy: String? {
    if case .through(let proxy) = way { proxy.address } else { nil }
  }

  func ping() async throws -> TimeAmount {
    switch way {
    case .own:
      do {
        let roundTrip = TimeAmount(try await client.ping())
        // Fetched after each ping, because a session that has ended has no facts.
        lineFacts = await client.lineStatistics()?.report ?? lineFacts
        return roundTrip
      } catch let error as BywayError {
        guard let taken = error.cause as? PortTaken,
          let (proxy, answer) = await LinkProxy.find(of: taken.processID, in: transports)
        else { throw error }
        way = .through(proxy)
        return take(answer)
      }
    case .through(let proxy):
      return take(try await proxy.ask())
    }
  }

  func shutDown() async {
    await client.shutDown()
    if case .through(let proxy) = way { await proxy.shutDown() }
  }

  private func take(_ answer: LinkProxy.Answer) -> TimeAmount {
    lineFacts = answer.lineFacts
    return answer.roundTrip
  }
}
