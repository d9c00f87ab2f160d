import HTTPWire

extension FieldSection {
  /// Whether this is a CONNECT request that names a target (RFC 9110 §9.3.6), not a WebSocket (RFC 8441).
  var asksForTunnel: Bool {
    !contains(.protocol) && withValue(of: .method) { $0.elementsEqual("CONNECT".utf8) } ?? false
  }

  /// Whether the request came inside TLS.
  var isSecret: Bool { withValue(of: .scheme) { FieldGrammar.equal($0, lowercased: "https") } ?? false }
}
