package import HTTPWire
package import NIOCore

/// Takes the rest of a request that was answered at its head already.
package final class DiscardingRequestSink: RequestSink {
  package init() {}

  package func write(_ bytes: ByteBuffer) {}
  package func finish(trailers: FieldSection?) {}
  package func cancel(_ reason: BywayError) {}
  package func didConsumeResponse(_ bytes: Int) {}
}
