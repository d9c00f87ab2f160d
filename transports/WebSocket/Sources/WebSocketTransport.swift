public import Byway
public import NIOCore
import Synchronization

/// A transport for links as binary WebSocket messages (RFC 6455), over TCP or TLS: `wss://hub.example/byway`.
///
/// So a link passes web servers, load balancers and corporate proxies. The stream below is opened by another transport, which also identifies
/// the ends:
///
///     TransportRegistry([WebSocketTransport(over: TCPTransport()), WebSocketTransport(over: TLSTransport())])
public struct WebSocketTransport: Transport {
  public let scheme: String
  public let crossesNetwork = true
  private let base: any Transport
  private let times: WebSocketTimes

  /// Creates the transport for `ws:` or `wss:`.
  /// - Parameter base: the transport for `tcp:`, which makes it `ws:`, or for `tls:`, which makes it `wss:`.
  public init(over base: any Transport) {
    self.init(over: base, times: WebSocketTimes())
  }

  init(over base: any Transport, times: WebSocketTimes) {
    self.base = base
    self.times = times
    scheme = base.scheme == "tls" ? "wss" : "ws"
  }

  public var forms: [AddressForm] {
    [
      AddressForm(
        "\(scheme)://HOST/PATH",
        scheme == "wss" ? "WebSocket messages, with TLS" : "WebSocket messages, on this machine only")
    ]
  }

  public var options: [LinkOption] {
    base.options.filter { WebSocketTarget.sharedOptions.contains($0.name) } + WebSocketTarget.ownOptions
  }

  public func check(_ address: LinkAddress) throws {
    let target = try WebSocketTarget(address)
    try target.checkPrivacy()
    try base.check(target.below)
  }

  public func check(_ address: LinkAddress, for opening: Link.Opening) throws {
    let target = try WebSocketTarget(address)
    try base.check(target.below, for: opening)
    _ = try target.token(code: .unreadableFile)
    switch opening {
    case .dial: try target.proxy?.check(code: .unreadableFile)
    case .listen: try Self.checkListener(target)
    }
  }

  private static func checkListener(_ target: WebSocketTarget) throws {
    guard target.proxy == nil else {
      throw BywayError(.invalidAddress, "\(target.address) listens, and only a dialing end uses proxy=: leave it out.")
    }
  }

  /// The audience of a listener: with a token, known clients only.
  public func audience(of address: LinkAddress) -> Audience {
    guard let target = try? WebSocketTarget(address) else { return .anyone }
    return target.tokenFile == nil ? base.audience(of: target.below) : .known
  }

  public func isEncrypted(_ address: LinkAddress) -> Bool { scheme == "wss" }

  public func certifiedNames(of channel: any Channel) -> [String]? { base.certifiedNames(of: channel) }

  public func certificate(of channel: any Channel) -> [UInt8]? { base.certificate(of: channel) }

  // MARK: Dialing

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    let target = try WebSocketTarget(address)
    try target.checkPrivacy()
    let token = try target.token()
    let stream = try await stream(to: target, context)
    return try await context.step(
      "WebSocket", or: .handshakeFailed,
      saw: { _, time in .sound("\(target.authority)\(target.path) opens a link, in \(time.inMilliseconds) ms.") }
    ) {
      try await stream.eventLoop.flatSubmit { [times] in
        let request = UpgradeRequest(target, token: token)
        return TunnelRequest.send(request.fields, on: stream, by: context.deadline, request.terms(times: times))
      }.get()
      return stream
    }
  }

  /// Opens the connection below, directly or through a proxy.
  private func stream(to target: WebSocketTarget, _ context: LinkContext) async throws -> any Channel {
    guard let proxy = target.proxy else { return try await base.connect(to: target.below, context: context) }
    let dial: @Sendable () async throws -> any Channel = {
      try await context.step(
        "proxy", saw: { _, time in .sound("It opens a tunnel to \(target.hostPort), in \(time.inMilliseconds) ms.") }
      ) {
        try await proxy.dial(target.hostPort, context: context)
      }
    }
    guard target.isSecure else { return try await dial() }
    var context = context
    context.tunnel = dial
    return try await base.connect(to: target.below, context: context)
  }

  // MARK: Listening

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let target = try WebSocketTarget(address)
    try target.checkPrivacy()
    try Self.checkListener(target)
    let token = Mutex(try target.token())
    let lower = try await base.listen(on: target.below, context: context)
    let queue = ChannelQueue()
    let admission = Admission(target, context: context, queue: queue, times: times)
    let pump = Task {
      do {
        for try await channel in lower.channels { admission.admit(channel, token: token.withLock(\.self)) }
        queue.end()
      } catch {
        queue.end(throwing: error)
      }
    }
    let port = try lower.address.hostPort().port
    return QueueListener(
      address: try port.map(target.bound) ?? address, queue: queue, keepsArrived: true,
      unavailableReason: { lower.unavailableReason },
      reread: {
        let renewed = try target.token()
        let apply = try await lower.reread()
        return {
          token.withLock { $0 = renewed }
          apply()
        }
      },
      stop: {
        await lower.close()
        await pump.value
      })
  }
}
