import HTTP2Session
import HTTPWire
package import Logging
package import NIOCore
import Primitives
import Synchronization

/// One link that many gateways dial: each is asked who it is, and its connection given to the upstream of that name.
///
/// What a gateway says is a claim, which nobody has verified. `@unchecked Sendable`: everything but ``listen()`` is for the event
/// loop only.
package final class InboundHub: @unchecked Sendable {
  /// Asked at once: those of whom TLS is done in a second, which may be as far away. When another one comes, who has been silent for
  /// longest goes.
  package static let usualGuests = 1024

  private let mostGuests: Int
  private let link: InboundLink
  private let name: String
  private let eventLoop: any EventLoop
  private let configuration: HTTP2Upstream.Configuration
  private let hop: String?
  private let upstream: (DeviceClaim, LinkAddress, HubPeer?) throws(BywayError) -> HTTP2Upstream?
  private let transport: any Transport
  private let bound: Mutex<LinkAddress>
  private let logger: Logger
  /// In the order in which they came.
  private var guests: [InboundGuest] = []
  private var strangers = SparseLog()
  private var liars = SparseLog()
  private var crowds = SparseLog()
  private var backoff = Backoff()
  private var isWaiting = false
  private var isClosed = false

  /// - Parameters:
  ///   - link: at which this end listens.
  ///   - hop: how this end names itself in `Via`.
  ///   - liveness: `nil` to ask never.
  ///   - siblings: beneath which the devices' names stand.
  ///   - limit: of the connections to it, so that those who use the devices have the rest of the descriptors.
  ///   - mostGuests: who are asked at once.
  ///   - upstream: for what a gateway says of itself, the address that it has dialed, and the peer that it comes from, or `nil` where a certificate has shown that it is called so: such as `HTTP2Upstream.ofGateways` makes. Without
  ///     one the gateway is sent away. Called on the event loop.
  package init(
    _ link: Link, on eventLoop: any EventLoop, hop: String?, liveness: Liveness?, siblings: Siblings?,
    limit: Int = .max, mostGuests: Int = usualGuests, logger: Logger,
    upstream: @escaping (DeviceClaim, LinkAddress, HubPeer?) throws(BywayError) -> HTTP2Upstream?
  ) {
    self.mostGuests = mostGuests
    self.link = InboundLink(link, limit: limit, logger: logger)
    transport = link.transport
    bound = Mutex(link.address)
    // Clients read it in messages: without files and other options.
    name = link.address.publicName
    self.eventLoop = eventLoop
    configuration = .ofGateways(patience: .zero, liveness: liveness, siblings: siblings)
    self.hop = hop
    self.upstream = upstream
    self.logger = logger
  }

  /// Listens, so that its failure is told before anything else happens. Any thread.
  package func listen() async throws {
    let address = try await link.listen(on: eventLoop)
    bound.withLock { $0 = address }
  }

  /// Reads anew the files of its address.
  /// - Returns: makes them count for who dials from then on; `nil` where it does not listen yet. Any thread.
  func reread() async throws -> (@Sendable () -> Void)? { try await link.reread() }

  /// As bound, once it listens. Any thread.
  package var address: LinkAddress { bound.withLock(\.self) }

  /// Answers who dials from now on.
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

  /// Listens no more. Connections that were given away live on.
  package func shutDown() {
    isClosed = true
    let asked = guests
    guests = []
    for guest in asked { guest.dismiss() }
    Task { [link] in await link.close() }
  }

  private func dialed(_ channel: any Channel) {
    guard !isClosed else { return channel.close(promise: nil) }
    backoff.reset()
    let names = transport.certifiedNames(of: channel)
    let guest = InboundGuest(channel, name: name, on: eventLoop, hop: hop, configuration)
    if guests.count >= mostGuests { guests.removeFirst().dismiss() }
    guests.append(guest)
    let peer = HubPeer(channel)
    guest.ask { self.answered(guest, $0, certified: names, from: peer) }
    start()
  }

  /// As it is, or beneath a suffix of this end's.
  private func isCertified(_ claimed: DeviceName, by names: [String]) -> Bool {
    names.contains { name in
      if name == claimed.text { return true }
      guard let host = try? Host(name) else { return false }
      return configuration.siblings?.hosts?.meaning(of: host) == .device(claimed)
    }
  }

  private func failed(_ error: any Error) {
    guard !isClosed else { return }
    logger.warning("Gateways cannot dial", metadata: ["link": "\(name)", "reason": "\(error)"])
    backoff.fail()
    eventLoop.assumeIsolated().scheduleTask(in: backoff.pause(fraction: .random(in: 0...1))) { self.start() }
  }

  /// - Parameter names: of its certificate, which counts more than what it says; `nil` where it has shown none.
  private func answered(_ guest: InboundGuest, _ claim: DeviceClaim?, certified names: [String]?, from peer: HubPeer) {
    guests.removeAll { $0 === guest }
    guard !isClosed, let claim, let connection = guest.connection() else { return guest.dismiss() }
    if let names, !(claim.name.map { isCertified($0, by: names) } ?? false) {
      connection.drain()
      tell(
        "A gateway that has dialed says a name that its certificate does not have", &liars,
        [
          "name": "\(claim.name?.text ?? "none")",
          "certificate": "\(names.prefix(Self.mostShown).map(\.visible).joined(separator: " "))",
        ])
      return
    }
    do throws(BywayError) {
      if let upstream = try upstream(claim, address, names == nil ? peer : nil) {
        connection.title = claim.title?.text
        return upstream.adopt(connection)
      }
    } catch {
      connection.drain()
      return tell("\(error.message)", &crowds, ["name": "\(claim.name?.text ?? "none")"])
    }
    connection.drain()
    tell("A gateway that has dialed is not one of the devices", &strangers, ["name": "\(claim.name?.text ?? "none")"])
  }

  /// Of a certificate's names.
  private static let mostShown = 5

  /// What anyone who can dial may cause is told now and then, with how often.
  private func tell(_ message: Logger.Message, _ log: inout SparseLog, _ facts: Logger.Metadata) {
    guard let keptBack = log.admit(at: eventLoop.now) else { return }
    var metadata = facts
    metadata["link"] = "\(name)"
    if keptBack > 0 { metadata["repeated"] = "\(keptBack)" }
    logger.warning(message, metadata: metadata)
  }
}

extension HTTP2Upstream.Configuration {
  fileprivate static func ofGateways(
    patience: TimeAmount, liveness: Liveness?, siblings: Siblings?
  ) -> Self {
    var configuration = Self.defaults
    configuration.patience = patience
    configuration.farEnd = .gateway
    configuration.siblings = siblings
    configuration.http2 = HTTP2Configuration(liveness: liveness)
    return configuration
  }
}

extension HTTP2Upstream {
  /// Of gateways that an ``InboundHub`` listens for.
  /// - Parameters:
  ///   - name: that they claim.
  ///   - hop: how this end names itself in `Via`.
  ///   - patience: how long an exchange waits while there is none.
  ///   - liveness: `nil` to ask never.
  ///   - sharing: what becomes of a name that several claim.
  ///   - siblings: beneath which the devices' names stand.
  package static func ofGateways(
    named name: String, on eventLoop: any EventLoop, hop: String?, patience: TimeAmount, liveness: Liveness?,
    sharing: GatewaySharing, siblings: Siblings?, logger: Logger
  ) -> HTTP2Upstream {
    var configuration = Configuration.ofGateways(patience: patience, liveness: liveness, siblings: siblings)
    configuration.sharing = sharing
    return HTTP2Upstream(
      dialer: .handedOver(name: name), on: eventLoop, hop: hop, configuration: configuration, logger: logger)
  }
}
