import BywayHTTPWire

/// The checks and changes of a hop for every request that it receives, over either HTTP version.
enum RequestRules {
  /// Prepares a request's head for forwarding. From here on `:authority` alone is its target.
  /// - Parameter via: the member of `Via` for how the request arrived (RFC 9110 §7.6.3).
  /// - Returns: the parsed authority; `nil` if the request names none.
  /// - Throws: the reason for not forwarding the request.
  static func admit(
    _ fields: inout FieldSection, _ configuration: ServerConfiguration, via: String
  ) throws(BywayError) -> AuthoritySpelling? {
    let hop = configuration.hop
    if !configuration.trustsTargetForm { fields.removeHopFields() }
    if let line = fields.first(.via), passed(line, of: fields, hop: hop) {
      throw BywayError(
        .loopDetected, "The request has passed \(hop) before: a link or an origin leads back to it.", processing: .none)
    }
    let authority = try settleAuthority(of: &fields)
    try judgeProtocol(of: fields, by: configuration.upgrades)
    fields.append(member: via, to: .via)
    return authority
  }

  /// Leaves one authority, which all hops read alike.
  private static func settleAuthority(of fields: inout FieldSection) throws(BywayError) -> AuthoritySpelling? {
    do throws(AuthorityFlaw) {
      let named = try fields.withValue(of: .authority) { bytes throws(AuthorityFlaw) in try AuthoritySpelling(bytes) }
      guard let other = try fields.withValue(of: .host, { bytes throws(AuthorityFlaw) in try AuthoritySpelling(bytes) })
      else { return named }
      guard let named else {
        fields.append(.authority, fields.value(of: .host) ?? "")
        fields.remove(.host)
        return other
      }
      if agree(named, other, in: fields) {
        fields.remove(.host)
        return named
      }
    } catch {
      throw BywayError(
        .invalidRequest, place: fields.value(of: .authority) ?? fields.value(of: .host) ?? "", error)
    }
    throw BywayError(
      .invalidRequest, "Host and :authority name different places (RFC 9113 §8.3.1).", processing: .none)
  }

  /// Whether `:authority` and Host name the same place. A difference is malformed (RFC 9113 §8.3.1).
  private static func agree(_ named: AuthoritySpelling, _ other: AuthoritySpelling, in fields: FieldSection) -> Bool {
    let scheme = fields.value(of: .scheme)
    let authority = fields.withValue(of: .authority) { Authority(named, in: $0) }
    let host = fields.withValue(of: .host) { Authority(other, in: $0) }
    return authority?.host == host?.host && authority?.port(for: scheme) == host?.port(for: scheme)
  }

  /// Rejects other protocols: a hop cannot tell how they would use the bytes after a CONNECT (RFC 8441 §4).
  private static func judgeProtocol(of fields: FieldSection, by rules: UpgradeRules) throws(BywayError) {
    guard fields.withValue(of: .protocol, rules.permits) == false else { return }
    throw UpgradeRules.refusal(of: fields.value(of: .protocol) ?? "")
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
