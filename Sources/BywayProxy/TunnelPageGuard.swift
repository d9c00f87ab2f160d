import Byway
import BywayHTTP1Session
import BywayHTTPWire
import NIOCore

/// A tunnel that a web page may have opened. Through a proxy, browsers open a WebSocket without TLS by CONNECT, and name the
/// page's origin only inside the tunnel.
///
/// Inspects the first bytes from the client. If they are a GET in clear text, ``PageRules`` judge it; everything else, above all
/// TLS, passes untouched. Lives on its event loop.
final class TunnelPageGuard: RequestSink, ResponseOwner {
  private enum State {
    /// Received bytes are held until they can be judged. The parser's limit bounds them, and none of them are credited.
    case listening
    case open
    case over
  }

  private static let patience = TimeAmount.seconds(30)
  private static let beginning = Array("GET ".utf8)

  private let pages: PageRules
  private let target: PageOrigin?
  private let eventLoop: any EventLoop
  private var state = State.listening
  private var held = ByteBuffer()
  private var parser = RequestParser()
  private var timer: Scheduled<Void>?
  private(set) var sink: (any ResponseSink)?
  private var next: (any RequestSink)?
  private var hasHead = false

  init(to target: PageOrigin?, _ pages: PageRules, on eventLoop: any EventLoop) {
    self.target = target
    self.pages = pages
    self.eventLoop = eventLoop
  }

  func begin(_ request: ExchangeHead, before handler: any ExchangeHandler, respondingTo sink: any ResponseSink) {
    self.sink = sink
    let next = handler.begin(request, respondingTo: PassingResponse(to: self))
    if case .over = state { return }
    self.next = next
  }

  // MARK: RequestSink

  func write(_ bytes: ByteBuffer) {
    switch state {
    case .over: break
    case .open: next?.write(bytes)
    case .listening:
      held.writeImmutableBuffer(bytes)
      parser.receive(bytes)
      judge()
    }
  }

  func finish(trailers: FieldSection?) {
    // An incomplete request has no effect.
    if case .listening = state { pass() }
    next?.finish(trailers: trailers)
  }

  func cancel(_ reason: BywayError) {
    end()?.cancel(reason)
  }

  func didConsumeResponse(_ bytes: Int) {
    next?.didConsumeResponse(bytes)
  }

  // MARK: Judging

  private func judge() {
    let beginning = held.readableBytesView.prefix(Self.beginning.count)
    guard Self.beginning.starts(with: beginning) else { return pass() }
    do {
      guard beginning.count == Self.beginning.count, case .head(let head) = try parser.nextEvent() else {
        return wait()
      }
      try pages.admit(head.fields, to: target)
      pass()
    } catch let error as BywayError {
      refuse(error)
    } catch {
      // No browser sends a malformed request, but a page may influence its length.
      refuse(BywayError(.forbidden, "The request in this tunnel cannot be read: \(error).", processing: .none))
    }
  }

  private func wait() {
    guard timer == nil else { return }
    timer = eventLoop.assumeIsolated().scheduleTask(in: Self.patience) {
      self.refuse(BywayError(.timedOut, "The request in this tunnel was not complete in time.", processing: .none))
    }
  }

  private func pass() {
    state = .open
    timer.take()?.cancel()
    let bytes = held
    held = ByteBuffer()
    parser = RequestParser()
    if bytes.readableBytes > 0 { next?.write(bytes) }
  }

  private func refuse(_ error: BywayError) {
    let sink = sink
    let next = end()
    next?.cancel(error)
    guard hasHead else {
      sink?.fail(error)
      return
    }
    // The tunnel is open: a request inside it is answered inside it.
    let words = error.message + "\n"
    sink?.write(
      ByteBuffer(
        string: "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"
          + "Content-Length: \(words.utf8.count)\r\n\r\n\(words)"))
    sink?.finish(trailers: nil)
  }

  /// - Returns: the sink that the request went to.
  private func end() -> (any RequestSink)? {
    state = .over
    timer.take()?.cancel()
    held = ByteBuffer()
    sink = nil
    return next.take()
  }

  // MARK: ResponseOwner

  func responseBegan() {
    hasHead = true
  }

  func responseEnded() -> (any ResponseSink)? {
    let sink = sink
    _ = end()
    return sink
  }
}
