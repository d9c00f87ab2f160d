import HTTPWire

/// The checks and changes of a hop for every request that it receives, over either HTTP version.
enum RequestRules {
  /// Prepares a request's head for forwarding. From here on `:authority` alone is its target.
  /// - Parameter via: the member of `Via` for how the request arrived (RFC 9110 §7.6.3).
  /// - Returns: why it must not be forwarded, or `nil`.
  static func admit(
    _ fields: inout FieldSection, _ configuration: ServerConfiguration, via: String
  ) -> BywayError? {
    let hop = configuration.hop
    if !configuration.trustsTargetForm { fields.removeHopFields() }
    if let line = fields.first(.via), passed(line, of: fields, hop: hop) {
      return BywayError(
        .loopDetected, "The request has passed \(hop) before: a link or an origin leads back to it.", processing: .none)
    }
    if let rejection = settleAuthority(of: &fields) ?? judgeProtocol(of: fields, by: configuration.upgrades) {
      return rejection
    }
    fields.append(member: via, to: .via)
    return nil
  }

  /// Leaves one authority, which all hops read alike.
  private static func settleAuthority(of fields: inout FieldSection) -> BywayError? {
    do throws(AuthorityFlaw) {
      let named = try fields.withValue(of: .authority) { bytes throws(AuthorityFlaw) in try AuthoritySpelling(bytes) }
      guard let host = fields.value(of: .host) else { return nil }
      if named == nil {
        _ = try Authority(host)
        fields.append(.authority, host)
      } else {
        // RFC 9113 §8.3.1: a difference is malformed.
        let scheme = fields.value(of: .scheme)
        let other = try Authority(host)
        let authority = try fields.withValue(of: .authority) { bytes throws(AuthorityFlaw) in try Authority(bytes) }
        guard other.host == authority?.host, other.port(for: scheme) == authority?.port(for: scheme) else {
          return BywayError(
            .invalidRequest, "Host and :authority name different places (RFC 9113 §8.3.1).", processing: .none)
        }
      }
      fields.remove(.host)
      return nil
    } catch {
      return BywayError(
        .invalidRequest, place: fields.value(of: .authority) ?? fields.value(of: .host) ?? "", error)
    }
  }

  /// Rejects other protocols: a hop cannot tell how they would use the bytes after a CONNECT (RFC 8441 §4).
  private static func judgeProtocol(of fields: FieldSection, by rules: UpgradeRules) -> BywayError? {
    guard fields.withValue(of: .protocol, rules.permits) == false else { return nil }
    return UpgradeRules.refusal(of: fields.value(of: .protocol) ?? "")
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

extension FieldSection {
  /// Removes the fields that only another Byway hop may set.
  fileprivate mutating func removeHopFields() {
    remove(.targetForm)
    remove(.upgradeMethod)
    remove(.upgradeLength)
  }
}
