import BywayHTTPWire
import CBywayNGHTTP2
import NIOCore

/// The callbacks of nghttp2 for received frames.
extension HTTP2Session {
  func beginHeaders(_ id: StreamID, isRequest: Bool) {
    fields = FieldSection()
    fieldsSize = 0
    // A GOAWAY of ours is queued that says this stream was not processed, so it must not be processed.
    guard isRequest, phase.isRunning else { return }
    streams[id] = HTTP2Stream(
      id: id, window: configuration.windows.initial, readAhead: readAhead, audience: .nobody)
    timers[.idle] = nil
    watchLiveness()
  }

  /// A line beyond the limit is decoded to keep the compression table in sync, and then dropped.
  func header(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, isSensitive: Bool) {
    fieldsSize += name.count + value.count + 32
    if fieldsSize > configuration.streams.maximumHeaderListSize { return }
    fields.append(name: name, value: value, isSensitive: isSensitive)
  }

  func headersEnded(_ id: StreamID, endStream: Bool) {
    endQuiet()
    guard let stream = streams[id] else { return }
    let section = exchange(&fields, with: FieldSection())
    let isHead = stream.input == .head
    if endStream { stream.input = .ended }
    guard stream.isHeard else { return }
    if fieldsSize > configuration.streams.maximumHeaderListSize { return reject(stream, isHead: isHead) }
    guard isHead else { return receivedTrailers(section, on: stream) }
    if role == .client {
      activity.answered()
      // nghttp2 accepts any three digits, and treats everything except 1xx as final.
      guard let status = section.status, status >= 100 else { return reset(id, .protocolError) }
      if status < 200 { return receivedInformational(section, on: stream) }
    }
    if !endStream { stream.input = .body }
    if role == .server {
      guard holdFields(of: stream) else { return reset(id, .refusedStream) }
      stream.audience = .owner
      prioritize(stream, by: section)
      if !endStream { widenAtOnce(stream) }
    }
    emit(.head(id, section, endStream: endStream))
  }

  /// Counts the section that was just received until the stream ends.
  /// - Returns: whether there was room.
  private func holdFields(of stream: HTTP2Stream) -> Bool {
    guard heldHeaderSize + fieldsSize <= configuration.streams.heldHeaderSize else { return false }
    stream.headSize += fieldsSize
    heldHeaderSize += fieldsSize
    return true
  }

  private func receivedTrailers(_ section: FieldSection, on stream: HTTP2Stream) {
    // The request may have been processed, so it is not refused as a new one would be.
    guard role == .client || holdFields(of: stream) else { return reset(stream.id, .enhanceYourCalm) }
    emit(.trailers(stream.id, section))
  }

  private func receivedInformational(_ section: FieldSection, on stream: HTTP2Stream) {
    stream.informationalCount += 1
    guard stream.informationalCount > configuration.streams.informationalResponses else {
      // A few bytes may decompress to many such responses, and no client would get them all.
      guard receivedInformationalSize < MessageLimits.waitingInformational else { return }
      receivedInformationalSize += fieldsSize
      return emit(.informational(stream.id, section))
    }
    violated(stream, "More than \(configuration.streams.informationalResponses) informational responses came.")
  }

  /// Resets a response that exceeds a limit. The owner receives the reason before the end.
  private func violated(_ stream: HTTP2Stream, _ message: String) {
    emit(.violated(stream.id, HTTP2Failure(.flooded, .enhanceYourCalm, message)))
    reset(stream.id, .enhanceYourCalm)
  }

  /// Rejects a section over the limit (RFC 9113 §10.5.1). A request that the owner has not received yet is answered here.
  private func reject(_ stream: HTTP2Stream, isHead: Bool) {
    guard role == .server else { return violated(stream, "The header section of a response is too large.") }
    guard isHead else { return reset(stream.id, .enhanceYourCalm) }
    stream.audience = .refused
    submitResponse(stream.id, [":status": "431", "content-length": "0"], endStream: true)
  }

  func dataReceived(_ id: StreamID, _ bytes: UnsafePointer<UInt8>, count: Int) {
    endQuiet()
    accept(nghttp2_session_consume_connection(engine, count))
    guard let base = incomingBase, let stream = streams[id], stream.isHeard else { return }
    guard let slice = incoming.getSlice(at: incoming.readerIndex + (bytes - base), length: count) else { return }
    stream.unread += count
    emit(.data(id, slice, endStream: false))
    if tuner.received(count), !sendPing(.window) { tuner.cancel() }
  }

  /// nghttp2 has checked the content length by now (RFC 9113 §8.1.1), so the body is complete.
  func dataEnded(_ id: StreamID) {
    guard let stream = streams[id] else { return }
    stream.input = .ended
    if stream.isHeard, !phase.hasFailed { events.endData(of: id) }
  }

  func resetReceived(_ id: StreamID) {
    streams[id]?.input = .ended
  }

  func windowUpdated(_ id: StreamID) {
    if let stream = streams[id], stream.turn == .blocked { unblock(stream) }
  }

  func priorityUpdated(_ id: StreamID, _ value: UnsafeRawBufferPointer) {
    if let stream = streams[id] { setUrgency(Urgency(priorityField: value), of: stream) }
  }

  func pingAnswered(_ number: UInt64) {
    guard let (purpose, roundTrip) = pings.answered(number, at: now) else { return }
    activity.answered()
    switch purpose {
    case .owner: emit(.pong(roundTrip: roundTrip))
    case .window: tuner.answered()
    case .liveness: break
    }
  }

  func settingsAcknowledged() {
    activity.answered()
    timers[.settings] = nil
  }

  func goAwayReceived(last: StreamID, _ code: HTTP2ErrorCode, debug: UnsafeRawBufferPointer) {
    let shown = debug.prefix(Self.goAwayTextLimit).map { $0 >= 0x20 && $0 < 0x7F ? $0 : 0x3F }
    let text = String(decoding: shown, as: UTF8.self)
    emit(.goAway(last: last, code, debug: text))
    // Requests that still wait for the limit of concurrent streams will never be sent.
    for stream in streams.values where role == .client && !stream.isHeadSent {
      drop(stream)
    }
  }

  /// Handles the end of the stream in nghttp2.
  func streamClosed(_ id: StreamID, _ code: HTTP2ErrorCode) {
    guard let stream = streams.remove(id) else { return }
    rules.closed(id, isPeerDone: stream.input == .ended)
    scheduler.remove(stream)
    if turn == id { turn = nil }
    heldHeaderSize -= stream.headSize
    informationalSize -= stream.informationalSize
    unsentHeadSize -= stream.unsentHeadSize + stream.unsentTrailerSize
    if stream.audience == .owner {
      let isUnprocessed = role == .client && (code == .refusedStream || !stream.isHeadSent)
      let given = if case .reset(let given) = stream.output { given } else { code }
      emit(.closed(id, given, isUnprocessed: isUnprocessed))
    }
    watchIdleness()
  }
}
