import CBywayNGHTTP2

extension Engine {
  static func install(_ callbacks: OpaquePointer?) {
    installReceiving(callbacks)
    installSending(callbacks)
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, user in
      Engine.with(user) { $0.streamClosed(id, HTTP2ErrorCode(rawValue: code)) }
      return 0
    }
  }

  private static func installReceiving(_ callbacks: OpaquePointer?) {
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, user in
      guard let frame else { return 0 }
      let isRequest = frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
      Engine.with(user) { $0.beginHeaders(frame.pointee.hd.stream_id, isRequest: isRequest) }
      return 0
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, _, name, nameCount, value, valueCount, flags, user in
      Engine.with(user) { session in
        session.header(
          name: UnsafeRawBufferPointer(start: name, count: nameCount),
          value: UnsafeRawBufferPointer(start: value, count: valueCount),
          isSensitive: UInt32(flags) & NGHTTP2_NV_FLAG_NO_INDEX.rawValue != 0)
      }
      return 0
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, bytes, count, user in
      if let bytes { Engine.with(user) { $0.dataReceived(id, bytes, count: count) } }
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
      if let frame { Engine.with(user) { Engine.received(frame, $0) } }
      return 0
    }
  }

  private static func installSending(_ callbacks: OpaquePointer?) {
    nghttp2_session_callbacks_set_send_data_callback(callbacks) { _, frame, header, count, _, user in
      guard let frame else { return 0 }
      Engine.with(user) { session in
        session.sendBody(
          frame.pointee.hd.stream_id,
          frameHeader: UnsafeRawBufferPointer(start: header, count: FrameHeader.size), count: count)
      }
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, user in
      if let frame { Engine.with(user) { Engine.sent(frame, $0) } }
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) { _, frame, _, user in
      guard let frame, frame.pointee.hd.type == FrameHeader.headers,
        frame.pointee.headers.cat != NGHTTP2_HCAT_REQUEST
      else { return 0 }
      Engine.with(user) { $0.headersNotSent(frame.pointee.hd.stream_id) }
      return 0
    }
  }

  /// The source of body bytes for nghttp2. It only reports their number; the callback above writes them.
  static var bodyProvider: nghttp2_data_provider {
    nghttp2_data_provider(source: nghttp2_data_source()) { _, id, _, limit, flags, _, user in
      switch Engine.with(user, { $0.nextBody(id, limit: limit) }) {
      case .wait, nil: return Int(NGHTTP2_ERR_DEFERRED.rawValue)
      case .full: return Int(NGHTTP2_ERR_PAUSE.rawValue)
      case .send(let count, let isLast, let hasTrailers):
        var bits = NGHTTP2_DATA_FLAG_NO_COPY.rawValue
        if isLast { bits |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        if hasTrailers { bits |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue }
        flags?.pointee |= bits
        return count
      }
    }
  }

  private static func received(_ frame: UnsafePointer<nghttp2_frame>, _ session: HTTP2Session) {
    let header = frame.pointee.hd
    let isFlagged = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    switch header.type {
    case FrameHeader.headers:
      session.headersEnded(header.stream_id, endStream: isFlagged)
    case FrameHeader.data:
      if isFlagged { session.dataEnded(header.stream_id) }
    case FrameHeader.resetStream:
      session.resetReceived(header.stream_id)
    case FrameHeader.settings:
      // The END_STREAM bit is ACK here.
      if isFlagged { session.settingsAcknowledged() } else { session.settingsReceived() }
    case FrameHeader.ping:
      if isFlagged { session.pingAnswered(number(frame)) }
    case FrameHeader.goAway:
      let goAway = frame.pointee.goaway
      session.goAwayReceived(
        last: goAway.last_stream_id, HTTP2ErrorCode(rawValue: goAway.error_code),
        debug: UnsafeRawBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len))
    case FrameHeader.windowUpdate:
      session.windowUpdated(header.stream_id)
    case FrameHeader.priorityUpdate:
      let update = frame.pointee.ext.payload.assumingMemoryBound(to: nghttp2_ext_priority_update.self).pointee
      session.priorityUpdated(
        update.stream_id, UnsafeRawBufferPointer(start: update.field_value, count: update.field_value_len))
    default:
      break
    }
  }

  private static func sent(_ frame: UnsafePointer<nghttp2_frame>, _ session: HTTP2Session) {
    let header = frame.pointee.hd
    switch header.type {
    case FrameHeader.headers:
      let isLast = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
      session.headSent(header.stream_id, payload: header.length, endStream: isLast)
      if isLast { session.finalFrameSent(header.stream_id) }
    case FrameHeader.resetStream:
      session.resetSent(header.stream_id)
    case FrameHeader.ping:
      let isAnswer = header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
      if !isAnswer { session.pings.sent(number(frame), at: session.now) }
    case FrameHeader.goAway:
      let goAway = frame.pointee.goaway
      session.goAwaySent(
        HTTP2ErrorCode(rawValue: goAway.error_code),
        debug: UnsafeRawBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len))
    default:
      break
    }
  }

  private static func number(_ frame: UnsafePointer<nghttp2_frame>) -> UInt64 {
    withUnsafeBytes(of: frame.pointee.ping.opaque_data) { $0.loadUnaligned(as: UInt64.self) }
  }

  /// Calls the session back. The session needs no extra reference, because nghttp2 calls back only within its own calls.
  @discardableResult
  private static func with<Result>(
    _ user: UnsafeMutableRawPointer?, _ body: (HTTP2Session) -> Result
  ) -> Result? {
    user.map { Unmanaged<HTTP2Session>.fromOpaque($0)._withUnsafeGuaranteedRef(body) }
  }
}
