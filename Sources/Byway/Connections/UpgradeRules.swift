import BywayHTTPWire

/// The protocols that requests may upgrade to at a serving connection.
package struct UpgradeRules: Sendable {
  /// The protocols in addition to `websocket`, `tcp` (containers) and `SPDY/3.1` (Kubernetes).
  package var allowed: [UpgradeProtocol]

  package init(allowing allowed: [UpgradeProtocol] = []) {
    self.allowed = allowed
  }

  func permits(_ name: UnsafeRawBufferPointer) -> Bool {
    FieldGrammar.equal(name, lowercased: "websocket") || FieldGrammar.equal(name, lowercased: "tcp")
      || FieldGrammar.equal(name, lowercased: "spdy/3.1") || allowed.contains { $0.isNamed(by: name) }
  }

  /// Whether `h2c`, which is ignored otherwise, may be a tunnel.
  var permitsH2C: Bool { allowed.contains { $0.description == "h2c" } }

  /// Finds the first protocol in an `Upgrade` field that is permitted, except for a WebSocket, which has a handshake of its own.
  func choice(from offer: String) -> String? {
    var offer = offer
    return offer.withUTF8 { protocols in
      var choice: String?
      FieldGrammar.forEachMember(of: UnsafeRawBufferPointer(protocols)) { name in
        guard choice == nil, !FieldGrammar.equal(name, lowercased: "websocket"), permits(name) else { return }
        choice = String(decoding: name, as: UTF8.self)
      }
      return choice
    }
  }

  /// The response for any other protocol.
  static func refusal(of offer: String) -> BywayError {
    BywayError(.unsupported, advice: .allowUpgrade, processing: .none) { advice in
      "This hop does not upgrade connections to \(offer.prefix(64)). It does for websocket, tcp, SPDY/3.1 and for what "
        + "\(advice) names."
    }
  }
}
