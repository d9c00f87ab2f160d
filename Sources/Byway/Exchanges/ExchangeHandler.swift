package import BywayHTTPWire
package import NIOCore

/// Handles exchanges on one event loop: an origin, a link, or a chain of interceptors in front of either.
///
/// This is the one internal interface between servers and upstreams. A server's connection begins an exchange here. The two sinks then
/// carry the rest of the request one way and the response the other, each paced by what the other side reports as consumed. Everything
/// happens on the event loop; nothing here is `Sendable`, and nothing blocks.
package protocol ExchangeHandler: AnyObject {
  /// Begins an exchange.
  ///
  /// May respond to `sink` before it returns.
  /// - Returns: the sink for the rest of the request. After the response has ended or failed, it ignores further input.
  func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink
}

/// Receives the rest of a request after its head, on the event loop: any number of ``write(_:)``, then ``finish(trailers:)`` once.
/// Alternatively ``cancel(_:)`` at any time, after which neither side sends more.
package protocol RequestSink: AnyObject {
  func write(_ bytes: ByteBuffer)
  func finish(trailers: FieldSection?)
  func cancel(_ reason: BywayError)
  /// Acknowledges bytes of the response's body that were passed on.
  func didConsumeResponse(_ bytes: Int)
}

/// Receives a response, on the event loop: any number of ``informational(_:)``, ``head(_:isComplete:)`` once, any number of ``write(_:)``,
/// then ``finish(trailers:)`` once unless the head was complete. ``fail(_:)`` may come at any time before the end, and ends it.
package protocol ResponseSink: AnyObject {
  func informational(_ head: FieldSection)
  func head(_ head: FieldSection, isComplete: Bool)
  func write(_ bytes: ByteBuffer)
  func finish(trailers: FieldSection?)
  func fail(_ error: BywayError)
  /// Acknowledges bytes of the request's body that were passed on.
  func didConsumeRequest(_ bytes: Int)
  /// Sends the request's body again from its beginning, because the first attempt has failed.
  /// - Returns: `false` if it cannot.
  func replayRequest() -> Bool
}

extension ResponseSink {
  package func replayRequest() -> Bool { false }
}
