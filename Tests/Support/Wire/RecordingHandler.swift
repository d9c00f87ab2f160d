package import Byway
package import BywayHTTPWire
package import NIOCore

/// A handler that keeps the heads and response sinks of its exchanges, and ignores the rest of their requests.
///
/// Its methods must be called on the same event loop.
package final class RecordingHandler: ExchangeHandler, RequestSink {
  package private(set) var heads: [ExchangeHead] = []
  package private(set) var sinks: [any ResponseSink] = []

  package init() {}

  package func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    heads.append(request)
    sinks.append(sink)
    return self
  }

  package func write(_ bytes: ByteBuffer) {}
  package func finish(trailers: FieldSection?) {}
  package func cancel(_ reason: BywayError) {}
  package func didConsumeResponse(_ bytes: Int) {}
}
