import BywayHTTPWire
import CBywayNGHTTP2

/// The setup of nghttp2 for a session, and its callbacks.
enum Engine {
  static func make(
    role: HTTP2Session.Role, configuration: HTTP2Configuration, memory: EngineMemory
  ) -> OpaquePointer {
    var callbacks: OpaquePointer?
    var options: OpaquePointer?
    var session: OpaquePointer?
    let isReady = nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&options) == 0
    precondition(isReady, "There is no memory left for an HTTP/2 session.")
    defer {
      nghttp2_session_callbacks_del(callbacks)
      nghttp2_option_del(options)
    }
    install(callbacks)
    set(options, configuration)
    var functions = memory.functions
    switch role {
    case .client: _ = nghttp2_session_client_new3(&session, callbacks, nil, options, &functions)
    case .server: _ = nghttp2_session_server_new3(&session, callbacks, nil, options, &functions)
    }
    guard let session else { preconditionFailure("There is no memory left for an HTTP/2 session.") }
    return session
  }

  private static func set(_ options: OpaquePointer?, _ configuration: HTTP2Configuration) {
    // The session opens the windows itself, by its own accounting of bytes read.
    nghttp2_option_set_no_auto_window_update(options, 1)
    nghttp2_option_set_builtin_recv_extension_type(options, FrameHeader.priorityUpdate)
    nghttp2_option_set_max_deflate_dynamic_table_size(options, 4096)
    // The default of 64 KiB is below what we accept, and a forwarded head must be sendable.
    nghttp2_option_set_max_send_header_block_length(options, 2 * configuration.streams.maximumHeaderListSize + 65_536)
    // Resets are counted by `InboundRules`, on the session's own clock.
    nghttp2_option_set_stream_reset_rate_limit(options, UInt64(UInt32.max), UInt64(UInt32.max))
  }

  static let noFlags = UInt8(NGHTTP2_FLAG_NONE.rawValue)

  static func message(_ result: Int32) -> String {
    String(cString: nghttp2_strerror(result))
  }
}
