import HTTPWire

extension FieldSection {
  /// CONNECT as RFC 9110 §9.3.6 has it, which names a target; not a WebSocket (RFC 8441).
  var asksForTunnel: Bool {
    !contains(.protocol) && withValue(of: .method) { $0.elementsEqual("CONNECT".utf8) } ?? false
  }

  /// It came inside TLS.
  var isSecret: Bool { withValue(of: .scheme) { FieldGrammar.equal($0, lowercased: "https") } ?? false }
}
