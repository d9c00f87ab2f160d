/// The reason why a session ended.
package struct HTTP2Failure: Error, Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// The first bytes are not those of HTTP/2: the remote end is another program.
    case notHTTP2(heard: [UInt8])
    /// The peer broke a rule of the protocol.
    case violation
    /// The peer sent more of something than it may.
    case flooded
    /// The peer did not answer in time.
    case unresponsive
    /// The peer sent nothing at all.
    case silent
    /// This end cannot continue: it is out of memory or stream identifiers.
    case exhausted
    /// No new request may start, because one end is shutting the session down.
    case closing
  }

  package var kind: Kind
  /// The error code of the GOAWAY.
  package var code: HTTP2ErrorCode
  /// A sentence for users.
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
