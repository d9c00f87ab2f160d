package import Byway
import BywayHTTPWire
import BywayPrimitives
package import Logging
package import NIOCore
import Synchronization

/// A link that many gateways dial. Each is asked for its name, and its connection is given to the upstream of that name.
///
/// The name is a claim of the gateway that nothing has verified. `@unchecked Sendable`: everything but ``listen()`` is for the event loop
/// only.
package final class InboundHub: @unchecked Sendable {
  /// How many gateways are asked at once: as many as complete TLS within one second, which is also a possible round-trip time. When another
  /// one dials, the one that has been silent longest is closed.
  package static let usualCandidates = 1024

  private let mostCandidates: Int
  private let link: InboundLink
  private let name: String
  private let eventLoop: any EventLoop
  private let configuration: HTTP2Upstream.Configuration
  private let siblings: Siblings?
  private let hop: String?
  private let upstream: (DeviceClaim, LinkAddress, HubPeer?) throws(BywayError) -> HTTP2Upstream?
  private let transport: any Transport
  private let bound: Mutex<LinkAddress>
  private let logger: Logger
  /// The gateways that are being asked, in the order of arrival.
  private var candidates: [GatewayCandidate] = []
  private var unknownGateways = SparseLog()
  private var liars = SparseLog()
  private var crowds = SparseLog()
  private var backoff = Backoff()
  private var isWaiting = false
  private var isClosed = false

  /// - Parameters:
  ///   - link: the link on which this end listens.
  ///   - hop: how this end names itself in `Via`.
  ///   - liveness: `nil` to never check.
  ///   - siblings: the suffixes below which the devices' names are.
  ///   - limit: the maximum number of connections, so that the users of the devices have the remaining descriptors.
  ///   - mostCandidates: how many gateways are asked at once.
  ///   - upstream: returns the upstream for a gateway's claim, the address that it dialed, and its peer (`nil` where a certificate has
  ///     proved the name), as made by `HTTP2Upstream.ofGateways`. The gateway is turned away if it returns `nil`. Called on the event loop.
  package init(
    _ link: Link, on eventLoop: any EventLoop, hop: String?, liveness: Liveness?, siblings: Siblings?,
    limit: Int = .max, mostCandidates: Int = usualCandidates, logger: Logger,
    upstream: @escaping (DeviceClaim, LinkAddress, HubPeer?) throws(BywayError) -> HTTP2Upstream?
  ) {
    self.mostCandidates = mostCandidates
    self.link = InboundLink(link, limit: limit, logger: logger)
    transport = link.transport
    bound = Mutex(link.address)
    // Clients read this name in messages, so it leaves out files and other options.
    name = link.address.publicName
    self.eventLoop = eventLoop
    configuration = .ofGateways(patience: .zero, liveness: liveness, siblings: siblings)
    self.siblings = siblings
    self.hop = hop
    self.upstream = upstream
    self.logger = logger
  }

  /// Listens, so that a failure is reported before anything else happens. Any thread.
  package func listen() async throws {
    let address = try await link.listen(on: eventLoop)
    bound.withLock { $0 = address }
  }

  /// Reads the files of its address again.
  /// - Returns: puts them into effect for new connections; `nil` if it does not listen yet. Any thread.
  func reread() async throws -> (@Sendable () -> Void)? { try await link.reread() }

  /// The bound address, once it listens. Any thread.
  package var address: LinkAddress { bound.withLock(\.self) }

  /// Accepts gateways from now on.
  package func start() {
    guard !isClosed, !isWaiting else { return }
    isWaiting = true
    eventLoop.makeFutureWithTask { [link, eventLoop] in try await link.next(on: eventLoop) }.assumeIsolated()
      .whenComplete { result in
        self.isWaiting = false
        switch result {
        case .success(let channel): self.dialed(channel)
        case .failure(let error): self.failed(error)
        }
      }
  }

  /// Stops listening. Connections that were handed over stay open.
  package func shutDown() {
    isClosed = true
    let asked = candidates
    candidates = []
    for candidate in asked { candidate.close() }
    Task { await waitUntilClosed() }
  }

  /// Returns when a hub that shuts down no longer listens. Any thread.
  package func waitUntilClosed() async { await link.close() }

  private func dialed(_ channel: any Channel) {
    guard !isClosed else { return channel.close(promise: nil) }
    backoff.reset()
    let names = transport.certifiedNames(of: channel)
    let candidate = GatewayCandidate(channel, name: name, on: eventLoop, hop: hop, configuration)
    if candidates.count >= mostCandidates { candidates.removeFirst().close() }
    candidates.append(candidate)
    let peer = HubPeer(channel)
    candidate.ask { self.answered(candidate, $0, certified: names, from: peer) }
    start()
  }

  /// Whether a certificate has the name, as it is or below a suffix of this end.
  private func isCertified(_ claimed: DeviceName, by names: [String]) -> Bool {
    names.contains { name in
      if name == claimed.text { return true }
      guard let host = try? Host(name) else { return false }
      return siblings?.hosts?.meaning(of: host) == .device(claimed)
    }
  }

  private func failed(_ error: any Error) {
    guard !isClosed else { return }
    logger.warning("Gateways cannot dial", metadata: ["link": "\(name)", "reason": "\(error)"])
    backoff.fail()
    eventLoop.assumeIsolated().scheduleTask(in: backoff.pause(fraction: .random(in: 0...1))) { self.start() }
  }

  /// - Parameter names: the names of its certificate, which take precedence over its claim; `nil` if it has shown none.
  private func answered(
    _ candidate: GatewayCandidate, _ claim: DeviceClaim?, certified names: [String]?, from peer: HubPeer
  ) {
    candidates.removeAll { $0 === candidate }
    guard !isClosed, let claim, let connection = candidate.connection() else { return candidate.close() }
    let claimed = claim.name.map { "claims '\($0.text)'" } ?? "claims no name"
    if let names, !(claim.name.map { isCertified($0, by: names) } ?? false) {
      let shown = names.prefix(Self.mostShown).map { "'\($0.visible)'" }.joined(separator: ", ")
      return refuse(connection, "\(claimed), its certificate is for \(shown.isEmpty ? "no name" : shown)", &liars)
    }
    do throws(BywayError) {
      if let upstream = try upstream(claim, address, names == nil ? peer : nil) {
        connection.title = claim.title?.text
        return upstream.adopt(connection)
      }
    } catch {
      return refuse(connection, "\(claimed), and \(error.message)", &crowds)
    }
    refuse(connection, "\(claimed), which is not one of the devices, or is taken", &unknownGateways)
  }

  /// Ends the connection of a gateway, which gets the reason too.
  private func refuse(_ connection: HTTP2ClientConnection, _ reason: String, _ log: inout SparseLog) {
    let text = "Refused gateway: \(reason)."
    connection.drain(telling: text)
    tell("\(text)", &log, [:])
  }

  /// How many names of a certificate are logged.
  private static let mostShown = 5

  /// Logs an event that any peer that can dial may cause: at a limited rate, with the number of repetitions.
  private func tell(_ message: Logger.Message, _ log: inout SparseLog, _ facts: Logger.Metadata) {
    guard let keptBack = log.admit(at: eventLoop.now) else { return }
    var metadata = facts
    metadata["link"] = "\(name)"
    if keptBack > 0 { metadata["repeated"] = "\(keptBack)" }
    logger.warning(message, metadata: metadata)
  }
}
