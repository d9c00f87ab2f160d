package import BywayHTTPWire
package import NIOCore

/// Opens byte streams through an exchange handler, with CONNECT (RFC 9110 §9.3.6): over a link to targets that its gateway allows, or
/// through an HTTP proxy.
///
/// `@unchecked Sendable`: the handler is used on its event loop only.
package struct TunnelDialer: @unchecked Sendable {
  private let handler: any ExchangeHandler
  private let eventLoop: any EventLoop
  private let target: String
  private let fields: FieldSection
  private let loginRefused: BywayError?
  private let remoteAddress: SocketAddress?

  /// - Parameters:
  ///   - target: `HOST:PORT`, with brackets around an IPv6 address.
  ///   - fields: the fields of the request, in addition to its pseudo-header fields.
  ///   - loginRefused: the error for a 407 response.
  ///   - remoteAddress: the remote address that the channel reports.
  package init(
    to target: String, through handler: any ExchangeHandler, on eventLoop: any EventLoop,
    fields: FieldSection = FieldSection(), loginRefused: BywayError? = nil, remoteAddress: SocketAddress? = nil
  ) {
    self.target = target
    self.handler = handler
    self.eventLoop = eventLoop
    self.fields = fields
    self.loginRefused = loginRefused
    self.remoteAddress = remoteAddress
  }

  /// - Returns: an active channel that does not read yet; fails with a ``BywayError``.
  package func dial(by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
    eventLoop.flatSubmit {
      let tunnel = TunnelClient(
        on: eventLoop, target: target, loginRefused: loginRefused, remoteAddress: remoteAddress)
      var request = FieldSection()
      request.append(.method, "CONNECT")
      request.append(.authority, target)
      for line in fields.lines { request.append(line, of: fields) }
      return tunnel.dial(with: request, through: handler, by: deadline)
    }
  }
}

/// A CONNECT at the requesting end.
private final class TunnelClient: ResponseSink {
  private let carrier: TunnelCarrier
  private let eventLoop: any EventLoop
  private let target: String
  private let loginRefused: BywayError?
  private let opened: EventLoopPromise<any Channel>
  private var request: (any RequestSink)?
  private var isOver = false
  private var isOpen = false
  private var timer: Scheduled<Void>?

  init(on eventLoop: any EventLoop, target: String, loginRefused: BywayError?, remoteAddress: SocketAddress?) {
    self.eventLoop = eventLoop
    self.target = target
    self.loginRefused = loginRefused
    carrier = TunnelCarrier(on: eventLoop, remoteAddress: remoteAddress)
    opened = eventLoop.makePromise()
  }

  func dial(
    with fields: FieldSection, through handler: any ExchangeHandler, by deadline: NIODeadline
  ) -> EventLoopFuture<any Channel> {
    timer = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
      self.cancel(BywayError(.timedOut, "No tunnel to \(self.target) was opened in time.", processing: .none))
    }
    let request = handler.begin(
      ExchangeHead(fields: fields, isComplete: false, deadline: deadline), respondingTo: self)
    if isOver {
      request.cancel(BywayError(.cancelled, "The tunnel was refused at once.", processing: .none))
    } else {
      self.request = request
      openIfAnswered()
    }
    return opened.futureResult
  }

  private func openIfAnswered() {
    guard isOpen, let request, let channel = carrier.channel else { return }
    timer?.cancel()
    do {
      try channel.syncOptions?.setOption(.autoRead, value: false)
      try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
    } catch {
      return cancel(BywayError(error))
    }
    carrier.open(to: .server(request))
    opened.succeed(channel)
  }

  private func cancel(_ error: BywayError) {
    let request = request
    end(error)
    request?.cancel(error)
  }

  private func end(_ error: BywayError) {
    guard !isOver else { return }
    isOver = true
    timer?.cancel()
    request = nil
    opened.fail(error)
    carrier.ended(error)
  }

  // MARK: ResponseSink

  func informational(_ head: FieldSection) {}

  func head(_ head: FieldSection, isComplete: Bool) {
    let status = head.value(of: .status).flatMap { Int($0) } ?? 0
    guard (200..<300).contains(status), !isComplete else {
      return cancel(refusal(head, status: status))
    }
    isOpen = true
    openIfAnswered()
  }

  func write(_ bytes: ByteBuffer) {
    carrier.received(bytes)
  }

  func finish(trailers: FieldSection?) {
    // It ended before the handler returned, so the tunnel has no owner yet.
    guard request != nil || !isOpen else {
      return end(BywayError(.originLost, "The tunnel to \(target) ended as soon as it was opened.", processing: .none))
    }
    // The exchange ends with its response, and takes no more of the request.
    isOver = true
    request = nil
    carrier.inputEnded(isOver: true)
  }

  func fail(_ error: BywayError) {
    end(error)
  }

  func didConsumeRequest(_ bytes: Int) {
    carrier.credited(bytes)
  }

  /// Returns the reason of a Byway hop (RFC 9209), or the status of another hop.
  private func refusal(_ head: FieldSection, status: Int) -> BywayError {
    if status == 407, let loginRefused { return loginRefused }
    let reported = head.value(of: .proxyStatus).flatMap { ProxyStatus($0) }
    let message = reported?.details ?? "No tunnel to \(target) was opened: the answer to CONNECT was \(status)."
    return BywayError(reported?.code ?? .originUnavailable, message, processing: .none)
  }
}
