/// The four forms of a request target (RFC 9112 §3.2).
package enum TargetForm: Sendable, Hashable {
  /// `/path?query`
  case origin
  /// `http://host/path`, to a proxy.
  case absolute
  /// `host:port`, with CONNECT.
  case authority
  /// `*`, with OPTIONS.
  case asterisk
}
