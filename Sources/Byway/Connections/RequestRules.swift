import HTTPWire

/// What a hop checks and changes in every request that it takes in, whichever HTTP it came by.
enum RequestRules {
  /// Prepares a request's head for forwarding.
  /// - Parameter via: the line that tells how the request came (RFC 9110 §7.6.3).
  /// - Returns: why it must not be forwarded, or `nil`.
  static func admit(
    _ fields: inout FieldSection, _ configuration: ServerConfiguration, via: String
  ) -> BywayError? {
    let hop = configuration.hop
    if !configuration.trustsTargetForm { fields.remove(.targetForm) }
    if let line = fields.first(.via), passed(line, of: fields, hop: hop) {
      return BywayError(
        .loopDetected, "The request has passed \(hop) before: a link or an origin leads back to it.", processing: .none)
    }
    fields.append(.via, via)
    return nil
  }

  private static func passed(_ line: FieldSection.Line, of fields: FieldSection, hop: String) -> Bool {
    fields.lines.contains { line in
      line.field == .via
        && fields.withBytes(of: line) { _, value in
          var isFound = false
          FieldGrammar.forEachMember(of: value) { member in
            // received-protocol RWS received-by [RWS comment]
            let words = member.split(separator: 0x20, omittingEmptySubsequences: true)
            if words.count >= 2, words[1].elementsEqual(hop.utf8) { isFound = true }
          }
          return isFound
        }
    }
  }
}
