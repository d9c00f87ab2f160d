import BywayHTTPWire
import CBywayNGHTTP2
package import NIOCore

extension HTTP2Session {
  /// Whether to call ``nextTransmit(maximum:into:at:)``. All body bytes may still have to wait for the peer's window.
  package var wantsTransmit: Bool {
    guard phase.canSend else { return false }
    return nghttp2_session_want_write(engine) != 0
      || (!scheduler.isEmpty && nghttp2_session_get_remote_window_size(engine) > 0)
  }

  /// Appends the next bytes to send, about `maximum` bytes. DATA frames are cut to fit, other frames are not. An empty buffer
  /// gets at least one frame if there is any, because an owner that gets nothing waits for an event.
  ///
  /// Request only what the link accepts now: the rest can still be overtaken.
  package func nextTransmit(maximum: Int, into buffer: inout ByteBuffer, at now: NIODeadline) {
    guard phase.canSend else { return }
    self.now = now
    waitingWrites = 0
    let before = buffer.readableBytes
    outputLimit = before + maximum
    swap(&output, &buffer)
    outputBase &-= UInt64(before)
    transmit()
    outputBase &+= UInt64(output.readableBytes)
    activity.sent(output.readableBytes - before)
    swap(&output, &buffer)
    // Returns an unused turn: a more urgent stream may be ready before the next call.
    if let stream = turn.take().flatMap({ streams[$0] }) { schedule(stream) }
    watchIdleness()
  }

  private func transmit() {
    while output.readableBytes < outputLimit {
      var bytes: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(engine, &bytes)
      if count > 0 {
        output.append(UnsafeRawBufferPointer(start: bytes, count: count))
      } else if count < 0 {
        return breakOff("HTTP/2 framing failed: \(Engine.message(Int32(count))).")
      } else if !resumeNext() {
        return
      }
    }
  }

  /// Ends the session after an error of nghttp2, which cannot send a GOAWAY either.
  private func breakOff(_ message: String) {
    fail(.exhausted, .internalError, message)
    if let failure { phase = .failed(failure, canSend: false) }
  }

  /// Wakes the stream whose turn it is; nghttp2 has nothing else to send.
  private func resumeNext() -> Bool {
    let hasRoom = output.readableBytes == 0 || output.readableBytes < outputLimit - FrameHeader.size
    guard hasRoom, let id = takeTurn() else { return false }
    return nghttp2_session_resume_data(engine, id) == 0
  }

  private func takeTurn() -> StreamID? {
    if let turn { return turn }
    guard nghttp2_session_get_remote_window_size(engine) > 0 else { return nil }
    while let stream = scheduler.next() {
      guard stream.isReady else { continue }
      if nghttp2_session_get_stream_remote_window_size(engine, stream.id) > 0 {
        turn = stream.id
        return stream.id
      }
      stream.turn = .blocked
      stream.body.compact()
    }
    return nil
  }

  func schedule(_ stream: HTTP2Stream) {
    if stream.isReady, stream.turn == .none, turn != stream.id { scheduler.insert(stream) }
  }

  func unblock(_ stream: HTTP2Stream) {
    stream.turn = .none
    schedule(stream)
  }

  func setUrgency(_ urgency: Urgency, of stream: HTTP2Stream) {
    let wasScheduled = stream.turn == .scheduled
    scheduler.remove(stream)
    stream.urgency = urgency
    if wasScheduled { scheduler.insert(stream) }
  }
}

/// The callbacks of nghttp2 for sent frames.
extension HTTP2Session {
  enum BodyAnswer {
    /// The number of bytes, and whether they end the stream's DATA frames.
    case send(Int, isLast: Bool, hasTrailers: Bool)
    /// It is not this stream's turn.
    case wait
    /// The output is full.
    case full
  }

  /// The minimum of body bytes for a frame of their own.
  private static let smallestPiece = 64

  /// Returns the number of body bytes for the stream's next DATA frame.
  func nextBody(_ id: StreamID, limit: Int) -> BodyAnswer {
    guard let stream = streams[id] else { return .wait }
    let trailers: FieldSection?
    let isFinishing: Bool
    switch stream.output {
    case .body: (isFinishing, trailers) = (false, nil)
    case .last(let last): (isFinishing, trailers) = (true, last)
    case .none, .ended, .reset: return .wait
    }
    let room = outputLimit - output.readableBytes - FrameHeader.size
    // A tiny frame at the end of a full buffer costs more than it saves.
    if room < min(Self.smallestPiece, stream.body.byteCount), output.readableBytes > 0 { return .full }
    guard takeTurn() == id else { return .wait }
    turn = nil
    let count = min(limit, max(Self.smallestPiece, room), stream.body.byteCount)
    let isLast = isFinishing && count == stream.body.byteCount
    scheduler.charge(stream, count + FrameHeader.size)
    rules.sentData(count, isCut: count < stream.body.byteCount)
    guard isLast else { return .send(count, isLast: false, hasTrailers: false) }
    stream.output = .ended
    if let trailers { accept(withFields(trailers) { nghttp2_submit_trailer(engine, id, $0, $1) }) }
    return .send(count, isLast: true, hasTrailers: trailers != nil)
  }

  /// Writes the DATA frame with this size, straight from the stream's buffers to the output.
  func sendBody(_ id: StreamID, frameHeader: UnsafeRawBufferPointer, count: Int) {
    output.reserveCapacity(minimumWritableBytes: frameHeader.count + count)
    output.append(frameHeader)
    guard let stream = streams[id] else { return }
    stream.body.move(count, into: &output)
    schedule(stream)
    if count > 0, failure == nil { events.drained(id, count) }
    if case .ended = stream.output { departed(id, at: -frameHeader.count - count, payload: count, ends: true) }
  }

  /// - Parameter place: the offset of the frame from the end of the output.
  private func departed(_ id: StreamID, at place: Int, payload: Int, begins: Bool = false, ends: Bool = false) {
    guard configuration.tellsDepartures else { return }
    let start = outputBase &+ UInt64(output.readableBytes + place)
    let bytes = start..<start + UInt64(payload + FrameHeader.size)
    emit(.departed(id, Departure(bytes: bytes, begins: begins, ends: ends)))
  }

  /// Handles a sent head. From now on nghttp2 asks for the stream's body. Without this, nghttp2's own queue would ask only the
  /// oldest stream.
  /// - Parameter payload: the frame's size without its header.
  func headSent(_ id: StreamID, payload: Int, endStream: Bool) {
    guard let stream = streams[id] else { return }
    // nghttp2 calls this before it returns the frame's bytes.
    if role == .client { departed(id, at: 0, payload: payload, begins: !stream.isHeadSent, ends: endStream) }
    guard !stream.isHeadSent else { return }
    if role == .server, stream.informationalCount > 0 {
      stream.informationalCount -= 1
      if stream.informationalCount == 0 {
        informationalSize -= stream.informationalSize
        stream.informationalSize = 0
      }
      return
    }
    unsentHeadSize -= stream.unsentHeadSize
    stream.unsentHeadSize = 0
    stream.head = .sent
    schedule(stream)
    if role == .client { widenAtOnce(stream) }
  }

  /// Discards the rest of a request that has been answered already (RFC 9113 §8.1).
  func finalFrameSent(_ id: StreamID) {
    guard let stream = streams[id] else { return }
    if stream.input == .unwanted || stream.audience == .refused && stream.input != .ended { reset(id, .noError) }
  }

  /// Handles a head or trailers that nghttp2 dropped, for example because they were too large. Without this, the stream would
  /// never end.
  func headersNotSent(_ id: StreamID) {
    if let stream = streams[id], !stream.isReset { reset(stream, .internalError) }
  }

  func resetSent(_ id: StreamID) {
    // A reset that the owner did not request was caused by an error of the peer.
    if streams[id]?.isReset != true, let failure = rules.countReset(at: now) { fail(failure) }
  }

  /// Handles a GOAWAY. nghttp2 ends the session itself if the peer violated a rule.
  func goAwaySent(_ code: HTTP2ErrorCode, debug: UnsafeRawBufferPointer) {
    if case .leaving(code, isQueued: true) = phase { return phase = .leaving(code, isQueued: false) }
    // A GOAWAY with NO_ERROR that is not queued by `goAway` is our shutdown notice.
    guard code != .noError else { return }
    let reason = debug.isEmpty ? "" : ": " + String(decoding: debug, as: UTF8.self)
    fail(.violation, code, "The peer broke HTTP/2\(reason).")
  }
}
