import HTTP2Session
import HTTPWire
import NIOCore

/// One exchange as an HTTP/2 server sees it: takes the response and writes it to its stream.
final class HTTP2ServerStream: ResponseSink {
  private let id: StreamID
  private unowned let session: HTTP2Session
  private unowned let driver: HTTP2Driver
  private let readAhead: ReadAhead
  private let hop: String
  private let failed: (@Sendable (BywayError) -> Void)?
  private var upstream: (any RequestSink)?
  private var isHead = false
  private var form = FailureResponse.Form.problem
  private var hasHead = false
  private var isRequestComplete = false
  private var isEnded = false
  /// Bytes that wait for the peer.
  private var unsent = 0

  init(
    _ id: StreamID, session: HTTP2Session, driver: HTTP2Driver, readAhead: ReadAhead,
    configuration: ServerConfiguration
  ) {
    self.id = id
    self.session = session
    self.driver = driver
    self.readAhead = readAhead
    hop = configuration.hop
    failed = configuration.failed
  }

  deinit {
    readAhead.sent(unsent)
  }

  /// What a refusal looks like depends on what was asked, too.
  func expectAnswer(to request: FieldSection) {
    isHead = request.withValue(of: .method) { FieldGrammar.equal($0, lowercased: "head") } ?? false
    form = FailureResponse.Form(answering: request)
  }

  func begin(_ head: ExchangeHead, with handler: any ExchangeHandler) {
    isRequestComplete = head.isComplete
    let upstream = handler.begin(head, respondingTo: self)
    if !isEnded { self.upstream = upstream }
  }

  // MARK: From the connection

  func requestBody(_ bytes: ByteBuffer, isLast: Bool) {
    if bytes.readableBytes > 0 {
      if let upstream { upstream.write(bytes) } else { session.consume(id, bytes: bytes.readableBytes) }
    }
    if isLast { requestEnded(trailers: nil) }
  }

  func requestEnded(trailers: FieldSection?) {
    isRequestComplete = true
    upstream?.finish(trailers: trailers)
  }

  func inputEnded() {
    guard !isRequestComplete else { return }
    let error = BywayError(.linkLost, "The client closed the connection before the end of its request.")
    // The other side of the exchange has not failed, and would go on: a tunnel for ever.
    let upstream = upstream.take()
    fail(error)
    upstream?.cancel(error)
  }

  /// Bytes of the response have left.
  func drained(_ bytes: Int) {
    // What tells of a failure was not counted.
    let counted = min(bytes, unsent)
    unsent -= counted
    readAhead.sent(counted)
    upstream?.didConsumeResponse(bytes)
  }

  /// The stream is gone, whichever end closed it.
  func closed(_ code: HTTP2ErrorCode) {
    cancelUpstream(BywayError(.cancelled, "The client cancelled the request (\(code))."))
  }

  func connectionLost(_ error: BywayError) {
    cancelUpstream(error)
  }

  private func cancelUpstream(_ reason: BywayError) {
    isEnded = true
    upstream.take()?.cancel(reason)
  }

  // MARK: ResponseSink

  func informational(_ head: FieldSection) {
    guard !isEnded, !hasHead else { return }
    session.submitInformational(id, head)
    driver.scheduleTransmit()
  }

  func head(_ head: FieldSection, isComplete: Bool) {
    guard !isEnded, !hasHead else { return }
    hasHead = true
    session.submitResponse(id, head, endStream: isComplete)
    if isComplete { responseEnded() }
    driver.scheduleTransmit()
  }

  func write(_ bytes: ByteBuffer) {
    guard !isEnded else { return }
    unsent += bytes.readableBytes
    readAhead.received(bytes.readableBytes)
    session.write(id, bytes)
    driver.scheduleTransmit()
  }

  func finish(trailers: FieldSection?) {
    guard !isEnded else { return }
    session.finish(id, trailers: trailers)
    responseEnded()
    driver.scheduleTransmit()
  }

  func fail(_ error: BywayError) {
    guard !isEnded else { return }
    failed?(error)
    if hasHead {
      // A body cut short must not look like a whole one (RFC 9113 §8.1.1).
      session.reset(id, error.code == .cancelled ? .cancel : .internalError)
      isEnded = true
      upstream = nil
    } else {
      hasHead = true
      let response = FailureResponse(error, hop: hop, form: form)
      let isBodiless = isHead || response.body.readableBytes == 0
      session.submitResponse(id, response.head, endStream: isBodiless)
      if !isBodiless {
        session.write(id, response.body)
        session.finish(id, trailers: nil)
      }
      responseEnded()
    }
    driver.scheduleTransmit()
  }

  func didConsumeRequest(_ bytes: Int) {
    session.consume(id, bytes: bytes)
    driver.scheduleTransmit()
  }

  /// The rest of the request, if any, has no reader any more (RFC 9113 §8.1: RST_STREAM with NO_ERROR).
  private func responseEnded() {
    isEnded = true
    upstream = nil
    if !isRequestComplete { session.stopReceiving(id) }
  }
}
