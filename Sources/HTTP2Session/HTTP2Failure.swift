/// Why a session came to its end.
package struct HTTP2Failure: Error, Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// The first bytes are not those of HTTP/2: something else lives at the far end.
    case notHTTP2(heard: [UInt8])
    /// The peer broke a rule of the protocol.
    case violation
    /// The peer sent more of something than it is allowed to.
    case flooded
    /// The peer did not answer in time.
    case unresponsive
    /// Nor did it say anything at all.
    case silent
    /// This end cannot go on: out of memory, or out of stream identifiers.
    case exhausted
    /// No new request may start: one end is shutting the session down.
    case closing
  }

  package var kind: Kind
  /// What the GOAWAY says.
  package var code: HTTP2ErrorCode
  /// One sentence for people.
  package var message: String

  package init(_ kind: Kind, _ code: HTTP2ErrorCode, _ message: String) {
    self.kind = kind
    self.code = code
    self.message = message
  }
}

extension HTTP2Failure: CustomStringConvertible {
  package var description: String { "\(message) (\(code))" }
}
