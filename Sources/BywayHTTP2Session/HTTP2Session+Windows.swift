package import BywayHTTPWire
import CBywayNGHTTP2

extension HTTP2Session {
  /// Credits body bytes that the reader took: the peer may send as many more on that stream.
  ///
  /// The connection's window was credited when they arrived, so a slow reader blocks only its own stream.
  package func consume(_ id: StreamID, bytes: Int) {
    guard let stream = streams[id], stream.input != .ended, !stream.isReset else { return }
    let count = min(bytes, stream.unread)
    guard count > 0 else { return }
    stream.unread -= count
    accept(nghttp2_session_consume_stream(engine, id, count))
    grow(stream)
  }

  /// Widens the window of a new stream, before its peer must wait for it.
  func widenAtOnce(_ stream: HTTP2Stream) {
    guard configuration.windows.isEager else { return }
    widen(stream, to: configuration.windows.usual, for: .trust)
  }

  /// Widens the window of a stream whose reader keeps up.
  private func grow(_ stream: HTTP2Stream) {
    if stream.unread <= stream.window / 4 { widen(stream, to: tuner.target, for: .progress) }
  }

  private func widen(_ stream: HTTP2Stream, to target: Int, for reason: ReadAhead.Reason) {
    guard target > stream.window else { return }
    let step = stream.readAhead.borrow(target - stream.window, for: reason)
    guard step > 0 else { return }
    stream.window += step
    // Relative to nghttp2's current window, which differs from our SETTINGS until they are acknowledged.
    let current = nghttp2_session_get_stream_effective_local_window_size(engine, stream.id)
    accept(
      nghttp2_session_set_local_window_size(
        engine, Engine.noFlags, stream.id, Int32(clamping: Int(current) + step)))
  }
}
