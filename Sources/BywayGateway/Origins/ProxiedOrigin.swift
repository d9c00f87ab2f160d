import Byway
import BywayHTTPWire
import BywayLineLayer
import NIOCore

/// An http origin behind an HTTP proxy: requests in absolute form, with the gateway's own login or none.
final class ProxiedOrigin: Upstream {
  private let upstream: HTTP1Upstream
  private let authority: String
  private let authorization: String?
  private let proxy: UpstreamProxy

  init(_ upstream: HTTP1Upstream, origin: Origin.Place, authorization: String?, proxy: UpstreamProxy) {
    self.upstream = upstream
    authority = (try? Authority(origin.authority))?.text(for: "http") ?? origin.authority
    self.authorization = authorization
    self.proxy = proxy
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    var request = request
    // The proxy finds the origin by the URL alone; Host must be the same (RFC 9112 §3.2.2).
    request.remove(.host)
    request.set(.authority, authority)
    request.set(.scheme, "http")
    request.remove(.proxyAuthorization)
    if let authorization { request.append(.proxyAuthorization, authorization) }
    return ProxiedExchange(sink, loginRefused: proxy.loginRefused).begin(request, with: upstream)
  }

  func open() {}
  func ping() -> EventLoopFuture<TimeAmount> { upstream.ping() }
  var lineStatistics: LineStatistics? { nil }
  var status: UpstreamStatus { upstream.status }

  func retire() { upstream.retire() }

  var patience: TimeAmount {
    get { upstream.patience }
    set { upstream.patience = newValue }
  }

  func shutDown() -> EventLoopFuture<Void> { upstream.shutDown() }
}

/// An exchange with a proxy. A 407 concerns only the proxy and this gateway, and is not passed on (RFC 9110 §11.7).
private final class ProxiedExchange: ResponseSink {
  private var sink: (any ResponseSink)?
  private var request: (any RequestSink)?
  private let loginRefused: BywayError

  init(_ sink: any ResponseSink, loginRefused: BywayError) {
    self.sink = sink
    self.loginRefused = loginRefused
  }

  /// - Returns: the sink for the rest of the request.
  func begin(_ head: ExchangeHead, with handler: any ExchangeHandler) -> any RequestSink {
    let request = handler.begin(head, respondingTo: self)
    self.request = request
    return request
  }

  // MARK: ResponseSink

  func informational(_ head: FieldSection) {
    sink?.informational(head)
  }

  func head(_ head: FieldSection, isComplete: Bool) {
    if head.withValue(of: .status, { $0.elementsEqual("407".utf8) }) ?? false {
      sink.take()?.fail(loginRefused)
      request.take()?.cancel(loginRefused)
      return
    }
    sink?.head(head, isComplete: isComplete)
  }

  func write(_ bytes: ByteBuffer) {
    sink?.write(bytes)
  }

  func finish(trailers: FieldSection?) {
    sink.take()?.finish(trailers: trailers)
  }

  func fail(_ error: BywayError) {
    sink.take()?.fail(error)
  }

  func didConsumeRequest(_ bytes: Int) {
    sink?.didConsumeRequest(bytes)
  }

  func replayRequest() -> Bool { sink?.replayRequest() ?? false }
}
