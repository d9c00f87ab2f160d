import HTTPWire

// What browsers keep for a whole domain, and not for one host of it: cookies. Hosts of devices share none.
extension DeviceHosts {
  /// Takes out of a response, or of what comes besides its head, what would reach other devices than the one that sent it.
  func keepApart(_ fields: inout FieldSection, of request: FieldSection) {
    guard fields.contains(.setCookie) || fields.contains(.clearSiteData) else { return }
    let host = request.withValue(of: .authority) { try? Authority($0).host } ?? nil
    if fields.contains(.setCookie) { separateCookies(in: &fields, of: host) }
    if fields.contains(.clearSiteData), host.map(isAmongSiblings) ?? true { keepCookies(in: &fields) }
  }

  /// It is a device's, or stands above devices.
  private func isAmongSiblings(_ host: Host) -> Bool {
    guard case .name(let name) = host else { return false }
    return meaning(of: host) != nil || isShared(name)
  }

  // MARK: Cookies

  /// Takes `Domain` off cookies that a browser would send to other devices as well, so that each stays with the host that set it
  /// (RFC 6265 §5.2.3, §5.3). It stays only where it is the request's host, or above it, byte for byte: browsers read more
  /// spellings of a name than anybody lists, and refuse a cookie for a foreign domain in any case.
  private func separateCookies(in fields: inout FieldSection, of host: Host?) {
    var cookies: [[UInt8]] = []
    var isChanged = false
    fields.forEachLine { line, _, value in
      guard line.field == .setCookie else { return }
      let cookie = separated(value, of: host)
      isChanged = isChanged || cookie.count != value.count
      cookies.append(cookie)
    }
    guard isChanged else { return }
    fields.remove(.setCookie)
    for cookie in cookies { cookie.withUnsafeBytes { fields.append(.setCookie, $0) } }
  }

  private func separated(_ cookie: UnsafeRawBufferPointer, of host: Host?) -> [UInt8] {
    var kept: [UInt8] = []
    for (index, part) in cookie.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).enumerated() {
      if index > 0, reachesOthers(UnsafeRawBufferPointer(rebasing: part), of: host) { continue }
      if index > 0 { kept.append(UInt8(ascii: ";")) }
      kept += part
    }
    return kept
  }

  /// `Domain=` and something else than the request's host.
  private func reachesOthers(_ attribute: UnsafeRawBufferPointer, of host: Host?) -> Bool {
    guard let equals = attribute.firstIndex(of: UInt8(ascii: "=")) else { return false }
    let key = FieldGrammar.trim(UnsafeRawBufferPointer(rebasing: attribute[..<equals]))
    guard FieldGrammar.equal(key, lowercased: "domain") else { return false }
    let domain = FieldGrammar.trim(UnsafeRawBufferPointer(rebasing: attribute[(equals + 1)...]))
    let text = String(decoding: domain.first == UInt8(ascii: ".") ? domain.dropFirst() : domain[...], as: UTF8.self)
    guard case .name(let host)? = host, text.utf8.allSatisfy({ $0 < 0x80 }) else { return true }
    let name = text.lowercased()
    return !(host == name || host.hasSuffix(".\(name)")) || isShared(name)
  }

  // MARK: Clear-Site-Data

  /// `"cookies"` are those of the registrable domain (W3C Clear Site Data), which devices share; all else belongs to an origin.
  ///
  /// Browsers cut the field at each comma, within quotation marks too: so it is read here, and what is not plainly a kind goes.
  private func keepCookies(in fields: inout FieldSection) {
    let kinds = fields.lines.filter { $0.field == .clearSiteData }.flatMap {
      fields.value(of: $0).split(separator: ",").map { $0.trimmed }
    }
    let kept = kinds.flatMap { kind in
      switch kind.lowercased() {
      case "\"cookies\"": [String]()
      case "\"*\"", "*": ["\"cache\"", "\"storage\"", "\"executionContexts\""]
      default: Self.isKind(kind) ? [kind] : []
      }
    }
    fields.remove(.clearSiteData)
    if !kept.isEmpty { fields.append(.clearSiteData, kept.joined(separator: ", ")) }
  }

  /// Letters in quotation marks, and behind a colon what is meant.
  private static func isKind(_ text: String) -> Bool {
    let bytes = text.utf8
    return bytes.count > 2 && bytes.first == UInt8(ascii: "\"") && bytes.last == UInt8(ascii: "\"")
      && bytes.dropFirst().dropLast().allSatisfy { byte in
        byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
      }
  }
}
