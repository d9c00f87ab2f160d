package import Byway
import BywayHTTPWire
import BywayPrimitives
package import Logging
package import NIOCore
import Synchronization

/// A link that many gateways or boards dial. Each is asked for its name, and its connection is given to the upstream of that name.
///
/// The name is a claim that nothing has verified. `@unchecked Sendable`: everything but ``listen()`` is for the event loop
/// only.
package final class InboundHub: @unchecked Sendable {
  /// How many gateways are asked at once: as many as complete TLS within one second, which is also a possible round-trip time. When another
  /// one dials, the one that has been silent longest is closed.
  package static let usualCandidates = 1024

  private let mostCandidates: Int
  private let link: InboundLink
  /// The texts that messages of the transport quote from the address of the link, each with the text for clients of the proxy: files and
  /// other options are left out.
  private let wordings: [(quoted: String, shown: String)]
  private let name: String
  private let eventLoop: any EventLoop
  private let configuration: HTTP2Upstream.Configuration
  private let siblings: Siblings?
  private let hop: String?
  private let framing: Link.Framing
  private let board: (DeviceName, LinkAddress, HubPeer?) throws(HubRefusal) -> BoardGroup
  private let upstream: (DeviceName, LinkAddress, HubPeer?) throws(HubRefusal) -> HTTP2Upstream
  private let transport: any Transport
  private let bound: Mutex<LinkAddress>
  private let logger: Logger
  /// The gateways that are being asked, in the order of arrival.
  private var candidates: [any HubCandidate] = []
  private var refusals = HubRefusals()
  /// The number of connections that were given to an upstream and are open.
  private var gateways = 0
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
  ///   - board: returns the device for a board's name, in the same way.
  ///   - upstream: returns the upstream for a gateway's name, the address that it dialed, and its peer (`nil` where a certificate has
  ///     proved the name), as made by `HTTP2Upstream.ofGateways`. The gateway is turned away if it throws. Called on the event loop.
  package init(
    _ link: Link, on eventLoop: any EventLoop, hop: String?, liveness: Liveness?, siblings: Siblings?,
    limit: Int = .max, mostCandidates: Int = usualCandidates, logger: Logger,
    board: @escaping (DeviceName, LinkAddress, HubPeer?) throws(HubRefusal) -> BoardGroup,
    upstream: @escaping (DeviceName, LinkAddress, HubPeer?) throws(HubRefusal) -> HTTP2Upstream
  ) {
    self.mostCandidates = mostCandidates
    wordings =
      [("\(link.address)", link.address.publicName)] + (link.address[option: "ca"].map { [(" in ca=\($0)", "")] } ?? [])
    self.link = InboundLink(link, limit: limit, logger: logger)
    transport = link.transport
    bound = Mutex(link.address)
    // Clients read this name in messages, so it leaves out files and other options.
    name = link.address.publicName
    self.eventLoop = eventLoop
    configuration = .ofGateways(patience: .zero, liveness: liveness, siblings: siblings)
    self.siblings = siblings
    self.hop = hop
    framing = link.framing
    self.board = board
    self.upstream = upstream
    self.logger = logger
  }

  /// Listens, so that a failure is reported before anything else happens. Any thread.
  package func listen() async throws {
    let address = try await link.listen(on: eventLoop) { [eventLoop, weak self] refusal in
      eventLoop.execute { [weak self] in self?.note(refusal) }
    }
    bound.withLock { $0 = address }
  }

  /// Reads the files of its address again.
  /// - Returns: puts them into effect for new connections; `nil` if it does not listen yet. Any thread.
  func reread() async throws -> (@Sendable () -> Void)? { try await link.reread() }

  /// The bound address, once it listens. Any thread.
  package var address: LinkAddress { bound.withLock(\.self) }

  /// Its state. On the event loop.
  package var report: HubReport {
    HubReport(address: address.publicName, gateways: gateways, refusals: refusals.reports)
  }

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
    if candidates.count >= mostCandidates { candidates.removeFirst().close() }
    switch framing {
    case .http2:
      let candidate = GatewayCandidate(channel, name: name, on: eventLoop, hop: hop, configuration)
      candidates.append(candidate)
      candidate.ask { self.answered(candidate, $0, certified: names, from: channel.remoteAddress) }
    case .http1:
      var candidate: BoardCandidate?
      let board = BoardCandidate(channel) { answer in
        guard let board = candidate.take() else { return }
        self.answered(board, answer, certified: names, from: channel.remoteAddress)
      }
      candidate = board
      candidates.append(board)
      board.start()
    }
    start()
  }

  private func answered(
    _ candidate: BoardCandidate, _ answer: BoardCandidate.Answer, certified names: [String]?, from peer: SocketAddress?
  ) {
    candidates.removeAll { $0 === candidate }
    guard !isClosed else { return candidate.close() }
    do throws(HubRefusal) {
      switch answer {
      case .gone: candidate.close()
      case .refused(let refusal): throw refusal
      case .greeting(let greeting):
        let name = try name(in: greeting.name, certified: names)
        let board = try board(name, address, names == nil ? HubPeer(peer) : nil)
        candidate.welcome()
        do {
          try board.adopt(candidate.channel, of: greeting.incarnation)
        } catch {
          return candidate.close()
        }
        gateways += 1
        candidate.channel.closeFuture.assumeIsolated().whenComplete { _ in self.gateways -= 1 }
      }
    } catch {
      candidate.refuse(error)
      refused(error, certified: names, from: peer)
    }
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

  /// - Parameter names: the names of its certificate; `nil` if it has shown none.
  private func answered(
    _ candidate: GatewayCandidate, _ answer: GatewayCandidate.Answer, certified names: [String]?,
    from peer: SocketAddress?
  ) {
    candidates.removeAll { $0 === candidate }
    guard !isClosed else { return candidate.close() }
    switch answer {
    case .gone: candidate.close()
    case .silence:
      candidate.close()
      refused(.silent, certified: names, from: peer)
    case .claim(let claim):
      guard let connection = candidate.connection() else { return candidate.close() }
      do throws(HubRefusal) {
        let name = try name(in: claim.claimed, certified: names)
        let upstream = try upstream(name, address, names == nil ? HubPeer(peer) : nil)
        connection.title = claim.title?.text
        gateways += 1
        connection.closed.assumeIsolated().whenComplete { _ in self.gateways -= 1 }
        upstream.adopt(connection)
      } catch {
        connection.drain(telling: "\(error)")
        refused(error, certified: names, from: peer)
      }
    }
  }

  /// Returns the name that a gateway may use. The names of its certificate take precedence over its claim.
  private func name(in claim: ClaimedName, certified names: [String]?) throws(HubRefusal) -> DeviceName {
    switch claim {
    case .none: throw .noName
    case .unusable(let text, let problem): throw .unusableName(text, problem)
    case .usable(let name):
      if let names, !isCertified(name, by: names) { throw .uncertified(name, certified: names) }
      return name
    }
  }

  // MARK: Refusals

  private func refused(_ refusal: HubRefusal, certified names: [String]?, from peer: SocketAddress?) {
    let refusal = ClientRefusal(of: peer, names: names?.map(\.visible) ?? [], reason: "\(refusal)")
    var facts: Logger.Metadata = ["link": "\(name)", "peer": "\(refusal.address ?? "this machine")"]
    if !refusal.names.isEmpty { facts["certificate"] = "\(refusal.names.joined(separator: " "))" }
    let level: Logger.Level
    switch refusals.note(refusal, at: eventLoop.now) {
    case .line(let repeated):
      level = .warning
      if repeated > 0 { facts["repeated"] = "\(repeated)" }
    case .repetition:
      level = .debug
    }
    logger.log(level: level, "Refused gateway: \(refusal.reason).", metadata: facts)
  }

  /// Records a refusal that the transport has logged.
  private func note(_ refusal: ClientRefusal) {
    var refusal = refusal
    for (quoted, shown) in wordings { refusal.reason = refusal.reason.replacing(quoted, with: shown) }
    refusals.note(refusal, at: eventLoop.now)
  }
}
