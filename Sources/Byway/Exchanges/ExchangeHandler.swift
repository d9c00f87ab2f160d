package import HTTPWire
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

/// A request's head, and further information from its sender.
package struct ExchangeHead {
  /// Including pseudo-header fields, without connection-specific fields except those that ask for an upgrade.
  package var fields: FieldSection
  /// Whether the request ends with its head.
  package var isComplete: Bool
  /// The deadline for the response's head.
  package var deadline: NIODeadline?
  /// The read-ahead of the connection that the response is for: how much of it may be received before it can be passed on. `nil`: the
  /// default.
  package var readAhead: ReadAhead?
  /// The device of its authority, if it was looked up already.
  package var device: OpenDevice?
  /// The user that sent it.
  package var user = RequestUser.anyone
  /// The client's connection that it arrived on; `nil` for a request of this process itself.
  package var client: ObjectIdentifier?
  /// The recorder of the exchange; `nil` if it is not observed.
  package var observed: ObservedExchange?

  package init(
    fields: FieldSection, isComplete: Bool, deadline: NIODeadline? = nil, readAhead: ReadAhead? = nil,
    observed: ObservedExchange? = nil
  ) {
    self.fields = fields
    self.isComplete = isComplete
    self.deadline = deadline
    self.readAhead = readAhead
    client = readAhead.map { ObjectIdentifier($0) }
    self.observed = observed
  }
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
