package import HTTPWire
package import NIOCore

/// Answers exchanges on one event loop: an origin, a link, or a chain of interceptors in front of either.
///
/// This is the one seam inside Byway. A server's connection begins an exchange here; the two sinks then carry the rest
/// of the request one way and the response the other, each paced by what the other side reports as consumed. Everything
/// happens on the event loop; nothing here is `Sendable`, and nothing blocks.
package protocol ExchangeHandler: AnyObject {
  /// Begins an exchange.
  ///
  /// May answer into `sink` before it returns.
  /// - Returns: where the rest of the request goes. After the response has ended or failed, what still arrives there is
  ///   ignored.
  func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink
}

/// A request's head, and what its sender knows besides it.
package struct ExchangeHead {
  /// Pseudo-header fields included; connection-specific fields gone, but those that ask for an upgrade.
  package var fields: FieldSection
  /// The request ends with its head.
  package var isComplete: Bool
  /// When the response's head must have arrived.
  package var deadline: NIODeadline?
  /// Of the connection that the response is for: how much of it may be received before it can go on. `nil`: as much as is
  /// usual.
  package var readAhead: ReadAhead?
  /// The device that its authority names, where somebody has looked already.
  package var device: OpenDevice?
  /// Who has sent it.
  package var visitor = Visitor.anyone
  /// The client's connection that it came by; `nil` where this process asks itself.
  package var client: ObjectIdentifier?
  /// Where to tell what becomes of it; `nil` where nobody wants to know.
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

/// Takes the rest of a request after its head, on the event loop: any number of ``write(_:)``, then ``finish(trailers:)``
/// once; or ``cancel(_:)`` at any time, after which nothing more comes from either side.
package protocol RequestSink: AnyObject {
  func write(_ bytes: ByteBuffer)
  func finish(trailers: FieldSection?)
  func cancel(_ reason: BywayError)
  /// As many bytes of the response's body have been passed on for good.
  func didConsumeResponse(_ bytes: Int)
}

/// Takes a response, on the event loop: any number of ``informational(_:)``, ``head(_:isComplete:)`` once, any number of
/// ``write(_:)``, then ``finish(trailers:)`` once unless the head was complete. ``fail(_:)`` may come at any time
/// before the end, and ends it.
package protocol ResponseSink: AnyObject {
  func informational(_ head: FieldSection)
  func head(_ head: FieldSection, isComplete: Bool)
  func write(_ bytes: ByteBuffer)
  func finish(trailers: FieldSection?)
  func fail(_ error: BywayError)
  /// As many bytes of the request's body have been passed on for good.
  func didConsumeRequest(_ bytes: Int)
  /// Sends the request's body once more from its beginning, because the first try came to nothing.
  /// - Returns: `false` where it cannot.
  func replayRequest() -> Bool
}

extension ResponseSink {
  package func replayRequest() -> Bool { false }
}
