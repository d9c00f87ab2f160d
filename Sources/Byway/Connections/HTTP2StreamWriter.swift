import BywayHTTP2Session
import BywayHTTPWire
import NIOCore

/// A connection that writes to the streams of its session. Streams that have ended ignore it.
protocol HTTP2StreamWriter: AnyObject {
  var session: HTTP2Session { get }
  var driver: ConnectionDriver { get }
}

extension HTTP2StreamWriter {
  func write(_ id: StreamID, _ bytes: ByteBuffer) {
    session.write(id, bytes)
    driver.scheduleTransmit()
  }

  func finish(_ id: StreamID, trailers: FieldSection?) {
    session.finish(id, trailers: trailers)
    driver.scheduleTransmit()
  }

  /// Acknowledges bytes that were passed on.
  func consume(_ id: StreamID, _ bytes: Int) {
    session.consume(id, bytes: bytes)
    driver.scheduleTransmit()
  }
}
