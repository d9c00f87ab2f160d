internal import CNGHTTP2

extension HTTP2Session {
  /// The reader took that many body bytes: the peer may send as many more on that stream.
  ///
  /// The connection's window was credited when they arrived, so that a slow reader holds up its own stream only.
  package func consume(_ id: StreamID, bytes: Int) {
    guard let stream = streams[id], !stream.isPeerDone, !stream.isReset else { return }
    let count = min(bytes, stream.unread)
    guard count > 0 else { return }
    stream.unread -= count
    accept(nghttp2_session_consume_stream(engine, id, count))
    grow(stream)
  }

  /// Widens the window of a stream whose reader keeps up.
  private func grow(_ stream: HTTP2Stream) {
    let step = tuner.target - stream.window
    guard step > 0, stream.unread <= stream.window / 4, growth + step <= configuration.windows.growth else { return }
    stream.window += step
    growth += step
    accept(
      nghttp2_session_set_local_window_size(
        engine, Engine.noFlags, stream.id, Int32(clamping: stream.window)))
  }
}
