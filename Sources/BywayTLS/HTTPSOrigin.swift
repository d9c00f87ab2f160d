import Byway
import BywayHTTPWire
import NIOCore

/// The https connections to one origin behind a link. Exchanges wait until the first connection shows which protocol the origin speaks.
///
/// `@unchecked Sendable`: its variables are used on `eventLoop` only.
final class HTTPSOrigin: ExchangeHandler, @unchecked Sendable {
  private static let maximumWaiting = 1024

  private enum State {
    case unknown, asking
    case known(any Upstream)
  }

  private let connector: OriginTLSConnector
  private let eventLoop: any EventLoop
  private var state = State.unknown
  private var waiting: [WaitingExchange] = []

  init(host: Host, port: UInt16, protocols: [String], contexts: TLSContexts, over link: ExchangeClient) throws {
    eventLoop = link.eventLoop
    connector = try OriginTLSConnector(host: host, port: port, protocols: protocols, contexts: contexts, over: link)
  }

  /// A client for use in tasks.
  var client: ExchangeClient { ExchangeClient(self, on: LoopExecutor(eventLoop)) }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    if case .known(let upstream) = state {
      if !connector.hasChanged { return upstream.begin(request, respondingTo: sink) }
      upstream.retire()
      state = .unknown
    }
    guard waiting.count < Self.maximumWaiting else {
      sink.fail(BywayError(.refused, "Too many requests are already waiting for \(connector.name).", processing: .none))
      return DiscardingRequestSink()
    }
    let exchange = WaitingExchange(request, sink: sink)
    waiting.append(exchange)
    if case .unknown = state { ask() }
    return exchange
  }

  /// Serves waiting exchanges, and keeps no unused connection open.
  func retire() {
    eventLoop.execute {
      if case .known(let upstream) = self.state { upstream.retire() }
    }
  }

  func shutDown() async {
    guard let upstream = try? await eventLoop.submit({ self.take() }).get() else { return }
    await upstream.shutDown()
  }

  private func take() -> OwnedUpstream? {
    guard case .known(let upstream) = state else { return nil }
    state = .unknown
    return OwnedUpstream(upstream, on: eventLoop)
  }

  private func ask() {
    state = .asking
    connector.connect(by: .now() + OriginTLSConnector.timeout).assumeIsolated().whenComplete { result in
      let exchanges = self.waiting
      self.waiting = []
      do {
        let (channel, name) = try result.get()
        guard exchanges.contains(where: { !$0.isCancelled }) else {
          channel.close(promise: nil)
          self.state = .unknown
          return
        }
        let upstream = self.connector.upstream(speaking: name, first: channel)
        self.state = .known(upstream)
        for exchange in exchanges { exchange.goOn(to: upstream) }
      } catch {
        self.state = .unknown
        for exchange in exchanges { exchange.fail(BywayError(error)) }
      }
    }
  }
}

/// An exchange that waits until the origin's protocol is known. The kept part of its body is limited by its sender's window, because none
/// of it is credited.
private final class WaitingExchange: RequestSink {
  private let head: ExchangeHead
  private var sink: (any ResponseSink)?
  private var next: (any RequestSink)?
  private var chunks: [ByteBuffer] = []
  /// The trailers after the end of the body; `nil` before the end.
  private var trailers: FieldSection??

  var isCancelled: Bool { sink == nil }

  init(_ head: ExchangeHead, sink: any ResponseSink) {
    self.head = head
    self.sink = sink
  }

  func goOn(to handler: any ExchangeHandler) {
    guard let sink = sink.take() else { return }
    let next = handler.begin(head, respondingTo: sink)
    self.next = next
    for chunk in chunks { next.write(chunk) }
    chunks = []
    if let trailers { next.finish(trailers: trailers) }
  }

  func fail(_ error: BywayError) {
    sink.take()?.fail(error)
  }

  // MARK: RequestSink

  func write(_ bytes: ByteBuffer) {
    if let next { next.write(bytes) } else { chunks.keep(bytes) }
  }

  func finish(trailers: FieldSection?) {
    if let next { next.finish(trailers: trailers) } else { self.trailers = .some(trailers) }
  }

  func cancel(_ reason: BywayError) {
    sink = nil
    chunks = []
    next.take()?.cancel(reason)
  }

  func didConsumeResponse(_ bytes: Int) {
    next?.didConsumeResponse(bytes)
  }
}
