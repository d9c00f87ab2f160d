package import BywayHTTPWire
package import NIOCore

/// Discards the rest of a request that was answered after its head.
package final class DiscardingRequestSink: RequestSink {
  package init() {}

  package func write(_ bytes: ByteBuffer) {}
  package func finish(trailers: FieldSection?) {}
  package func cancel(_ reason: BywayError) {}
  package func didConsumeResponse(_ bytes: Int) {}
}
