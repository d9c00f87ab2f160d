import Byway
import HTTP1Session
import HTTPWire
import NIOCore

/// A tunnel that a web page may have opened: through a proxy, browsers send a WebSocket without TLS by CONNECT, and say only
/// inside where its page is from.
///
/// Looks at what the client says first. Where that is a GET in the clear, ``PageRules`` judge it; everything else, TLS above
/// all, passes untouched. Lives on its event loop.
final class GuardedTunnel: RequestSink {
  private enum State {
    /// What has come is held until it can be judged; bounded by the parser's limit, and none of it is credited.
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
  private var sink: (any ResponseSink)?
  private var next: (any RequestSink)?
  private var hasHead = false

  init(to target: PageOrigin?, _ pages: PageRules, on eventLoop: any EventLoop) {
    self.target = target
    self.pages = pages
    self.eventLoop = eventLoop
  }

  func begin(_ request: ExchangeHead, before handler: any ExchangeHandler, respondingTo sink: any ResponseSink) {
    self.sink = sink
    let next = handler.begin(request, respondingTo: Answer(to: self))
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
    // A request that is not whole asks for nothing.
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
      // Nobody's browser sends it, but a page may have a say in how long it is.
      refuse(BywayError(.forbidden, "The request in this tunnel cannot be read: \(error).", processing: .none))
    }
  }

  private func wait() {
    guard timer == nil else { return }
    timer = eventLoop.assumeIsolated().scheduleTask(in: Self.patience) {
      self.refuse(BywayError(.timedOut, "The request in this tunnel did not end in time.", processing: .none))
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
    // The tunnel is open: what the client asks inside is answered inside.
    let words = error.message + "\n"
    sink?.write(
      ByteBuffer(
        string: "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"
          + "Content-Length: \(words.utf8.count)\r\n\r\n\(words)"))
    sink?.finish(trailers: nil)
  }

  /// - Returns: where the request went.
  private func end() -> (any RequestSink)? {
    state = .over
    timer.take()?.cancel()
    held = ByteBuffer()
    sink = nil
    return next.take()
  }

  /// What comes back, which passes as it is.
  private final class Answer: ResponseSink {
    private let tunnel: GuardedTunnel

    init(to tunnel: GuardedTunnel) {
      self.tunnel = tunnel
    }

    func informational(_ head: FieldSection) {
      tunnel.sink?.informational(head)
    }

    func head(_ head: FieldSection, isComplete: Bool) {
      tunnel.hasHead = true
      let sink = tunnel.sink
      if isComplete { _ = tunnel.end() }
      sink?.head(head, isComplete: isComplete)
    }

    func write(_ bytes: ByteBuffer) {
      tunnel.sink?.write(bytes)
    }

    func finish(trailers: FieldSection?) {
      let sink = tunnel.sink
      _ = tunnel.end()
      sink?.finish(trailers: trailers)
    }

    func fail(_ error: BywayError) {
      let sink = tunnel.sink
      _ = tunnel.end()
      sink?.fail(error)
    }

    func didConsumeRequest(_ bytes: Int) {
      tunnel.sink?.didConsumeRequest(bytes)
    }

    func replayRequest() -> Bool { tunnel.sink?.replayRequest() ?? false }
  }
}
