import BywayHTTPWire

/// A translation between the two names of a site: the client's, and the origin's own. Fields that name it are translated in requests
/// and responses. Names of other sites stay, so that an origin can distinguish requests of foreign pages from its own. A page with the
/// origin's own name is foreign too: its name is withheld.
struct SiteTranslation: Sendable {
  let client: SiteName
  let own: SiteName

  /// Translates a request's head, and gives it the origin's own authority.
  func translateRequest(_ fields: inout FieldSection) {
    replaceValues(in: &fields) { line, name, value in
      switch line.field {
      case .origin: translated(value, from: client, to: own) ?? (own.isClaimed(by: value) ? Array("null".utf8) : nil)
      // RFC 9110 §10.1.3: the value for a source without a URL.
      case .referer:
        translated(value, from: client, to: own) ?? (own.isClaimed(by: value) ? Array("about:blank".utf8) : nil)
      // WebDAV (RFC 4918 §10.3 and §10.4): the target of a copy on the same server, and the resources of conditions.
      case .other where name.equals("destination"): translated(value, from: client, to: own)
      case .other where name.equals("if"): translated(conditions: value)
      default: nil
      }
    }
    fields.set(.scheme, own.scheme)
    fields.set(.authority, own.authorityText)
  }

  /// Translates the head of a response, final or informational.
  func translateResponse(_ fields: inout FieldSection) {
    replaceValues(in: &fields) { line, name, value in
      switch line.field {
      case .setCookie: return translated(cookie: value)
      case .other:
        if name.equals("location") || name.equals("content-location") {
          return translated(value, from: own, to: client)
        }
        if name.equals("refresh") { return translated(value, after: "url=") }
        if name.equals("link") { return translated(value, after: "<") }
        return nil
      default: return nil
      }
    }
  }

  private func replaceValues(
    in fields: inout FieldSection,
    _ replacement: (FieldSection.Line, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> [UInt8]?
  ) {
    var replacements: [Int: [UInt8]] = [:]
    var index = 0
    fields.forEachLine { line, name, value in
      replacements[index] = replacement(line, name, value)
      index += 1
    }
    guard !replacements.isEmpty else { return }
    var result = FieldSection(lineCapacity: fields.lines.count, byteCapacity: fields.byteCount + 64)
    index = 0
    fields.forEachLine { line, name, value in
      if let bytes = replacements[index] {
        bytes.withUnsafeBytes { result.append(name: name, value: $0, isSensitive: line.isSensitive) }
      } else {
        result.append(name: name, value: value, isSensitive: line.isSensitive)
      }
      index += 1
    }
    fields = result
  }

  // MARK: URLs

  private func translated(_ url: UnsafeRawBufferPointer, from: SiteName, to: SiteName) -> [UInt8]? {
    guard let (end, hasScheme) = from.match(url) else { return nil }
    return Array("\(hasScheme ? "\(to.scheme):" : "")//\(to.authorityText)".utf8) + url[end...]
  }

  /// Translates each URL in a response's field that directly follows a mark.
  private func translated(_ value: UnsafeRawBufferPointer, after mark: StaticString) -> [UInt8]? {
    var result: [UInt8] = []
    var copied = 0
    var index = 0
    while index + mark.utf8CodeUnitCount <= value.count {
      let end = index + mark.utf8CodeUnitCount
      guard FieldGrammar.equal(UnsafeRawBufferPointer(rebasing: value[index..<end]), lowercased: mark) else {
        index += 1
        continue
      }
      index = end
      if index < value.count, value[index] == UInt8(ascii: "\"") || value[index] == UInt8(ascii: "'") { index += 1 }
      let rest = UnsafeRawBufferPointer(rebasing: value[index...])
      guard let (length, hasScheme) = own.match(rest) else { continue }
      result += value[copied..<index]
      result += "\(hasScheme ? "\(client.scheme):" : "")//\(client.authorityText)".utf8
      index += length
      copied = index
    }
    return copied == 0 ? nil : result + value[copied...]
  }

  /// Translates the resources of an `If` field. Locks and validators, which are in parentheses, stay: the origin has named them.
  private func translated(conditions value: UnsafeRawBufferPointer) -> [UInt8]? {
    var result: [UInt8] = []
    var copied = 0
    var (isInList, isQuoted) = (false, false)
    for index in value.indices {
      switch value[index] {
      case UInt8(ascii: "\""): isQuoted.toggle()
      case UInt8(ascii: "(") where !isQuoted: isInList = true
      case UInt8(ascii: ")") where !isQuoted: isInList = false
      case UInt8(ascii: "<") where !isInList && index >= copied:
        guard let (end, _) = client.match(UnsafeRawBufferPointer(rebasing: value[(index + 1)...])) else { continue }
        result += value[copied...index]
        result += "\(own.scheme)://\(own.authorityText)".utf8
        copied = index + 1 + end
      default: break
      }
    }
    return copied == 0 ? nil : result + value[copied...]
  }

  // MARK: Cookies

  /// Translates `Domain` if it is the origin's own host. A parent domain of that host has no equivalent in the client's name: such a
  /// `Domain` is removed, and the cookie is limited to the host that has set it (RFC 6265 §5.2.3).
  private func translated(cookie: UnsafeRawBufferPointer) -> [UInt8]? {
    var kept: [UInt8] = []
    var isChanged = false
    for (index, part) in cookie.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).enumerated() {
      switch index == 0 ? .foreign : domain(of: UnsafeRawBufferPointer(rebasing: part)) {
      case .foreign:
        if index > 0 { kept.append(UInt8(ascii: ";")) }
        kept += part
      case .own:
        isChanged = true
        if case .name(let name) = client.authority.host { kept += "; Domain=\(name)".utf8 }
      case .above:
        isChanged = true
      }
    }
    return isChanged ? kept : nil
  }

  private enum Domain {
    case own
    case above
    /// Another site's domain, or another attribute.
    case foreign
  }

  private func domain(of attribute: UnsafeRawBufferPointer) -> Domain {
    guard let equals = attribute.firstIndex(of: UInt8(ascii: "=")) else { return .foreign }
    let key = FieldGrammar.trim(UnsafeRawBufferPointer(rebasing: attribute[..<equals]))
    guard FieldGrammar.equal(key, lowercased: "domain") else { return .foreign }
    let value = FieldGrammar.trim(UnsafeRawBufferPointer(rebasing: attribute[(equals + 1)...]))
    let text = String(decoding: value, as: UTF8.self)
    guard let host = try? Host(text.hasPrefix(".") ? String(text.dropFirst()) : text) else { return .foreign }
    if host == own.authority.host { return .own }
    guard case .name(let domain) = host, case .name(let name) = own.authority.host else { return .foreign }
    return name.hasSuffix(".\(domain)") ? .above : .foreign
  }
}
