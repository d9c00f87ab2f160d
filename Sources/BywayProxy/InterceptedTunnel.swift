import Byway
import BywayHTTPWire
import Logging
import NIOCore

/// A tunnel to an inspected host. If the client starts TLS in it, the tunnel ends at this proxy and carries https requests to
/// that one host. Anything else, such as a browser's `ws:`, is passed on unchanged, because there is no TLS to terminate.
///
/// Lives on its event loop.
final class InterceptedTunnel: RequestSink {
  private enum State {
    /// No byte has come yet that tells the protocol.
    case silent
    case terminated(TunnelCarrier)
    case passed(any RequestSink)
    case over
  }

  /// The record type of a ClientHello (RFC 8446 §5.1).
  private static let handshake: UInt8 = 0x16
  private static let patience = TimeAmount.seconds(10)

  private let request: ExchangeHead
  private let target: Authority
  private let termination: any TLSTermination
  private let configuration: ServerConfiguration
  private let inside: any ExchangeHandler
  private let pages: PageRules?
  private let eventLoop: any EventLoop
  private let next: any ExchangeHandler
  private let sink: any ResponseSink
  private var state = State.silent
  private var timer: Scheduled<Void>?
  /// Held until the tunnel is over, or passed on.
  private var slot: ProxyState.TunnelSlot?
  /// Kept until the tunnel is over.
  private var connection: IngressConnection?

  /// - Parameters:
  ///   - request: the CONNECT request to that target.
  ///   - configuration: for serving the requests inside the tunnel.
  ///   - inside: handles the requests inside the tunnel.
  ///   - pages: rules for a tunnel that is passed on.
  ///   - next: handles a tunnel that is passed on.
  init(
    _ request: ExchangeHead, to target: Authority, by termination: any TLSTermination,
    serving configuration: ServerConfiguration, _ inside: any ExchangeHandler, pages: PageRules?,
    on eventLoop: any EventLoop, before next: any ExchangeHandler, respondingTo sink: any ResponseSink
  ) {
    self.request = request
    self.target = target
    self.termination = termination
    self.configuration = configuration
    self.inside = inside
    self.pages = pages
    self.eventLoop = eventLoop
    self.next = next
    self.sink = sink
  }

  /// Accepts the tunnel: only then does a client begin to send.
  func begin(in slot: ProxyState.TunnelSlot) {
    self.slot = slot
    timer = eventLoop.assumeIsolated().scheduleTask(in: Self.patience) {
      guard case .silent = self.state else { return }
      self.warn("The client sent nothing.")
      self.state = .over
      self.sink.finish(trailers: nil)
    }
    sink.head([":status": "200"], isComplete: false)
  }

  func write(_ bytes: ByteBuffer) {
    if case .silent = state, let first = bytes.readableBytesView.first {
      timer?.cancel()
      first == Self.handshake ? terminate() : pass()
    }
    switch state {
    case .terminated(let carrier): carrier.received(bytes)
    case .passed(let upstream): upstream.write(bytes)
    case .silent, .over: break
    }
  }

  func finish(trailers: FieldSection?) {
    switch state {
    case .silent:
      end()
      sink.finish(trailers: nil)
    case .terminated(let carrier): carrier.inputEnded(isOver: false)
    case .passed(let upstream): upstream.finish(trailers: trailers)
    case .over: break
    }
  }

  func cancel(_ reason: BywayError) {
    let state = state
    end()
    switch state {
    case .terminated(let carrier): carrier.ended(reason)
    case .passed(let upstream): upstream.cancel(reason)
    case .silent, .over: break
    }
  }

  func didConsumeResponse(_ bytes: Int) {
    switch state {
    case .terminated(let carrier): carrier.credited(bytes)
    case .passed(let upstream): upstream.didConsumeResponse(bytes)
    case .silent, .over: break
    }
  }

  private func end() {
    slot = nil
    timer?.cancel()
    state = .over
  }

  private func terminate() {
    let carrier = TunnelCarrier(on: eventLoop)
    guard let channel = carrier.channel else { return }
    do {
      try channel.syncOptions?.setOption(.autoRead, value: false)
      try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
    } catch {
      end()
      return sink.fail(BywayError(error))
    }
    state = .terminated(carrier)
    carrier.open(to: .client(sink))
    termination.begin(on: channel, as: target.host).assumeIsolated().whenComplete { result in
      do {
        _ = try result.get()
        self.connection = try IngressConnection.start(
          on: channel, handler: self.inside, configuration: self.configuration)
      } catch {
        self.warn(BywayError(error).message)
        channel.close(promise: nil)
      }
    }
  }

  private func pass() {
    slot = nil
    let answer = AcceptedTunnelSink(to: sink) { [weak self] in self?.warn($0) }
    let upstream = upstream(respondingTo: answer)
    // It may have been refused before this returns.
    state = answer.isOver ? .over : .passed(upstream)
  }

  private func upstream(respondingTo answer: AcceptedTunnelSink) -> any RequestSink {
    guard let pages else { return next.begin(request, respondingTo: answer) }
    let tunnel = TunnelPageGuard(to: PageOrigin(scheme: "http", target), pages, on: eventLoop)
    tunnel.begin(request, before: next, respondingTo: answer)
    return tunnel
  }

  private func warn(_ reason: String) {
    configuration.logger.warning(
      "A tunnel was not inspected", metadata: ["host": "\(target.host)", "reason": "\(reason)"])
  }
}

/// The remote end of a tunnel that has already been accepted towards its client.
private final class AcceptedTunnelSink: ResponseSink {
  private let client: any ResponseSink
  private let warn: (String) -> Void
  private(set) var isOver = false

  init(to client: any ResponseSink, warn: @escaping (String) -> Void) {
    self.client = client
    self.warn = warn
  }

  func informational(_ head: FieldSection) {}

  func head(_ head: FieldSection, isComplete: Bool) {
    guard let status = head.status, (200..<300).contains(status) else {
      let details = head.value(of: .proxyStatus).flatMap { ProxyStatus($0)?.details }
      return fail(BywayError(.refused, details ?? "The far end answered \(head.status ?? 0) to CONNECT."))
    }
    if isComplete { finish(trailers: nil) }
  }

  func write(_ bytes: ByteBuffer) {
    if !isOver { client.write(bytes) }
  }

  func finish(trailers: FieldSection?) {
    guard !isOver else { return }
    isOver = true
    client.finish(trailers: nil)
  }

  func fail(_ error: BywayError) {
    guard !isOver else { return }
    isOver = true
    if error.code != .cancelled { warn(error.message) }
    client.fail(error)
  }

  func didConsumeRequest(_ bytes: Int) {
    client.didConsumeRequest(bytes)
  }
}
