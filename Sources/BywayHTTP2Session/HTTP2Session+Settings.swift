import CBywayNGHTTP2

extension HTTP2Session {
  /// Sends our SETTINGS (RFC 9113 §6.5.2), and the connection window, which is not a setting.
  func submitSettings() {
    let streams = configuration.streams
    var entries = [
      setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, configuration.windows.initial),
      setting(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, streams.maximumHeaderListSize),
      // Priorities of RFC 7540 are neither sent nor read (RFC 9218 §2.1).
      setting(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
    ]
    if streams.maximumFrameSize != 1 << 14 {
      entries.append(setting(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, streams.maximumFrameSize))
    }
    if streams.headerTableSize != 4096 {
      entries.append(setting(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, streams.headerTableSize))
    }
    switch role {
    case .client:
      entries.append(setting(NGHTTP2_SETTINGS_ENABLE_PUSH, 0))
    case .server:
      entries.append(setting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams.maximumConcurrent))
      if streams.allowsExtendedConnect { entries.append(setting(NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1)) }
    }
    accept(nghttp2_submit_settings(engine, Engine.noFlags, entries, entries.count))
    accept(
      nghttp2_session_set_local_window_size(
        engine, Engine.noFlags, 0, Int32(clamping: configuration.windows.maximum)))
  }

  /// Handles the peer's SETTINGS. A larger initial window may unblock streams (RFC 9113 §6.9.2).
  func settingsReceived() {
    let limit = nghttp2_session_get_remote_settings(engine, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    let connect = nghttp2_session_get_remote_settings(engine, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL)
    emit(
      .settingsReceived(
        maximumConcurrentStreams: limit == UInt32.max ? nil : Int(limit), allowsExtendedConnect: connect == 1))
    for stream in streams.values where stream.turn == .blocked { unblock(stream) }
  }

  /// Checks a result that is an error only if memory ran out.
  func accept(_ result: Int32) {
    if result == NGHTTP2_ERR_NOMEM.rawValue { fail(.exhausted, .internalError, "There is no memory left.") }
  }

  func fail(_ kind: HTTP2Failure.Kind, _ code: HTTP2ErrorCode, _ message: String) {
    fail(HTTP2Failure(kind, code, message))
  }

  private func setting(_ id: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
    nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: UInt32(clamping: value))
  }
}
