import Byway
import BywayHTTPWire

// Browsers keep cookies for a whole domain, not for one of its hosts. The hosts of devices share none.
extension DeviceHosts {
  /// Removes from a response's fields what would affect other devices than its sender.
  func keepApart(_ fields: inout FieldSection, of request: ExchangeHead) {
    guard fields.contains(.setCookie) || fields.contains(.clearSiteData) else { return }
    let host = request.authority?.host
    if fields.contains(.setCookie) { separateCookies(in: &fields, of: host) }
    if fields.contains(.clearSiteData), host.map(isAmongSiblings) ?? true { keepCookies(in: &fields) }
  }

  /// Whether it is the host of a device, or a parent domain of devices.
  private func isAmongSiblings(_ host: Host) -> Bool {
    guard case .name(let name) = host else { return false }
    return meaning(of: host) != nil || isShared(name)
  }

  // MARK: Cookies

  /// Removes `Domain` from cookies that a browser would send to other devices as well, so that each stays with the host that set it (RFC
  /// 6265 §5.2.3, §5.3). `Domain` stays only if it equals the request's host or a parent domain, byte for byte. Browsers accept more
  /// spellings of a name than any list has, and refuse a cookie for a foreign domain in any case.
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

  /// Whether it is `Domain=` with something else than the request's host or its parent.
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

  /// Removes `"cookies"`, which are those of the registrable domain (W3C Clear Site Data) that devices share. All other kinds belong to an
  /// origin.
  ///
  /// Browsers split the field at each comma, also within quotation marks. So it is parsed here the same way, and anything but a plain kind
  /// is removed.
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

  /// Whether a text is printable characters in quotation marks.
  private static func isKind(_ text: String) -> Bool {
    let bytes = text.utf8
    return bytes.count > 2 && bytes.first == UInt8(ascii: "\"") && bytes.last == UInt8(ascii: "\"")
      && bytes.dropFirst().dropLast().allSatisfy { byte in
        byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
      }
  }
}
