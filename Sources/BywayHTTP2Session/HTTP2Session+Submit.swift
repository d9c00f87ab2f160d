package import BywayHTTPWire
import CBywayNGHTTP2
package import NIOCore

/// The requests of the owner. Calls for a stream that has ended are ignored; its `closed` event is already queued.
extension HTTP2Session {
  /// Opens a stream. It may wait for the peer's limit of concurrent streams.
  /// - Parameter readAhead: the budget for the stream's window; by default the session's own.
  /// - Throws: ``HTTP2Failure`` if no more streams can be opened; the request was not sent.
  package func submitRequest(
    _ head: FieldSection, endStream: Bool, readAhead: ReadAhead? = nil
  ) throws(HTTP2Failure) -> StreamID {
    if let failure { throw failure }
    guard nghttp2_session_check_request_allowed(engine) != 0, phase.isRunning else {
      throw HTTP2Failure(.closing, .refusedStream, "The session is shutting down and takes no new request.")
    }
    let id = withFields(head, isKept: true) { fields, count in
      withProvider(unless: endStream) { nghttp2_submit_request(engine, nil, fields, count, $0, nil) }
    }
    guard id > 0 else {
      throw HTTP2Failure(.exhausted, .refusedStream, "The request cannot be sent: \(Engine.message(id)).")
    }
    let stream = HTTP2Stream(
      id: id, window: configuration.windows.initial, readAhead: readAhead ?? self.readAhead, audience: .owner)
    stream.submit(head, endStream: endStream)
    streams[id] = stream
    timers[.idle] = nil
    watchLiveness()
    rules.opened(id)
    prioritize(stream, by: head)
    return id
  }

  /// Sends a 1xx response (RFC 9110 §15.2), or drops it if too many bytes of such responses are queued already.
  package func submitInformational(_ id: StreamID, _ head: FieldSection) {
    guard let stream = streams[id], stream.mayAnswer else { return }
    guard informationalSize < MessageLimits.waitingInformational else { return }
    stream.informationalCount += 1
    stream.informationalSize += head.listSize
    informationalSize += head.listSize
    accept(
      withFields(head) { nghttp2_submit_headers(engine, Engine.noFlags, id, nil, $0, $1, nil) })
  }

  /// Returns the size of a section that is about to wait; `nil` if too many bytes of heads and trailers wait already.
  private func unsentSize(of section: FieldSection) -> Int? {
    let size = section.listSize
    // A single section is sent in any case, and fails there if it is too large.
    guard unsentHeadSize == 0 || unsentHeadSize + size <= configuration.streams.heldHeaderSize else { return nil }
    return size
  }

  /// Sends the final head, or resets the stream if the peer has left too many heads unread.
  ///
  /// A `priority` field of the head overrides the request's (RFC 9218 §8).
  package func submitResponse(_ id: StreamID, _ head: FieldSection, endStream: Bool) {
    guard let stream = streams[id], stream.mayAnswer else { return }
    guard let size = unsentSize(of: head) else { return reset(stream, .enhanceYourCalm) }
    stream.unsentHeadSize = size
    unsentHeadSize += size
    stream.submit(head, endStream: endStream)
    if head.contains(.priority) { prioritize(stream, by: head) }
    accept(
      withFields(head, isKept: true) { fields, count in
        withProvider(unless: endStream) { nghttp2_submit_response(engine, id, fields, count, $0) }
      })
  }

  /// The number of writes that usually lead to one transmission.
  private static let usualWrites = 64

  /// Queues body bytes. The owner limits the queued bytes: `drained` events report those sent.
  package func write(_ id: StreamID, _ bytes: ByteBuffer) {
    guard let stream = streams[id], stream.takesBody else { return }
    waitingWrites += 1
    let isHeldUp =
      stream.turn == .blocked || waitingWrites > Self.usualWrites
      || nghttp2_session_get_remote_window_size(engine) <= 0
    stream.body.append(bytes, isHeldUp: isHeldUp)
    schedule(stream)
  }

  /// Ends the message after the queued body bytes, with or without trailers.
  package func finish(_ id: StreamID, trailers: FieldSection? = nil) {
    guard let stream = streams[id], stream.takesBody else { return }
    if role == .server, let trailers {
      guard let size = unsentSize(of: trailers) else { return reset(stream, .enhanceYourCalm) }
      stream.unsentTrailerSize = size
      unsentHeadSize += size
    }
    stream.output = .last(trailers: trailers)
    schedule(stream)
  }

  /// Discards the rest of the peer's message. Once our side has ended, the peer is informed with NO_ERROR (RFC 9113 §8.1).
  package func stopReceiving(_ id: StreamID) {
    if let stream = streams[id], stream.input == .body { stream.input = .unwanted }
  }

  /// Cancels the stream: drops queued bytes, and ignores bytes that still arrive.
  package func reset(_ id: StreamID, _ code: HTTP2ErrorCode) {
    if let stream = streams[id], !stream.isReset { reset(stream, code) }
  }

  /// Withdraws unsent requests that exceed the peer's new limit, the latest first.
  /// - Returns: their streams, which get no `closed` event.
  package func withdrawExcess() -> [StreamID] {
    guard role == .client, !hasRoom else { return [] }
    var excess = streams.count - streamLimit
    var withdrawn: [StreamID] = []
    for stream in streams.values.reversed() where excess > 0 && !stream.isHeadSent {
      excess -= 1
      withdrawn.append(stream.id)
      stream.audience = .nobody
      drop(stream)
    }
    return withdrawn
  }

  /// Closes a stream of ours whose head has not been sent.
  func drop(_ stream: HTTP2Stream) {
    accept(nghttp2_submit_rst_stream(engine, Engine.noFlags, stream.id, HTTP2ErrorCode.refusedStream.rawValue))
    streamClosed(stream.id, .refusedStream)
  }

  /// Measures the round-trip time; the result is a `pong` event. Returns `false` if too many PINGs are outstanding.
  @discardableResult
  package func ping() -> Bool {
    sendPing(.owner)
  }

  /// Announces that a server's GOAWAY will follow (RFC 9113 §6.8): the peer should open no more streams.
  package func shutdownNotice() {
    if role == .server, !phase.hasFailed { accept(nghttp2_submit_shutdown_notice(engine)) }
  }

  /// The maximum number of bytes of text in a GOAWAY.
  static let goAwayTextLimit = 256

  /// Accepts no new streams. Open ones may finish, and then the session is finished.
  /// - Parameter reason: text for the peer's log.
  package func goAway(_ code: HTTP2ErrorCode = .noError, because reason: String = "") {
    guard phase.isRunning else { return }
    phase = .leaving(code, isQueued: true)
    let last = nghttp2_session_get_last_proc_stream_id(engine)
    let text = Array(reason.utf8.prefix(Self.goAwayTextLimit))
    accept(nghttp2_submit_goaway(engine, Engine.noFlags, last, code.rawValue, text, text.count))
  }

  func prioritize(_ stream: HTTP2Stream, by head: FieldSection) {
    if let urgency = head.withValue(of: .priority, { Urgency(priorityField: $0) }) {
      setUrgency(urgency, of: stream)
    }
  }

  func reset(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
    scheduler.remove(stream)
    if turn == stream.id { turn = nil }
    stream.output = .reset(code)
    stream.body.removeAll()
    unsentHeadSize -= stream.unsentTrailerSize
    stream.unsentTrailerSize = 0
    accept(nghttp2_submit_rst_stream(engine, Engine.noFlags, stream.id, code.rawValue))
  }

  private func withProvider<Result>(
    unless endStream: Bool, _ body: (UnsafePointer<nghttp2_data_provider>?) -> Result
  ) -> Result {
    if endStream { return body(nil) }
    var provider = Engine.bodyProvider
    return body(&provider)
  }
}
