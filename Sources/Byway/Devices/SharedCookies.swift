import HTTPWire

extension DeviceHosts {
  /// Takes `Domain` off cookies that a browser would send to other devices as well, so that each stays with the host that set it
  /// (RFC 6265 §5.2.3, §5.3).
  func separateCookies(in head: inout FieldSection) {
    guard head.contains(.setCookie) else { return }
    var cookies: [[UInt8]] = []
    var isChanged = false
    head.forEachLine { line, _, value in
      guard line.field == .setCookie else { return }
      let cookie = separated(value)
      isChanged = isChanged || cookie.count != value.count
      cookies.append(cookie)
    }
    guard isChanged else { return }
    head.remove(.setCookie)
    for cookie in cookies { cookie.withUnsafeBytes { head.append(.setCookie, $0) } }
  }

  private func separated(_ cookie: UnsafeRawBufferPointer) -> [UInt8] {
    var kept: [UInt8] = []
    for (index, part) in cookie.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).enumerated() {
      if index > 0, names(UnsafeRawBufferPointer(rebasing: part)) { continue }
      if index > 0 { kept.append(UInt8(ascii: ";")) }
      kept += part
    }
    return kept
  }

  /// `Domain=` and a domain that devices share.
  private func names(_ attribute: UnsafeRawBufferPointer) -> Bool {
    guard let equals = attribute.firstIndex(of: UInt8(ascii: "=")) else { return false }
    let name = FieldGrammar.trim(UnsafeRawBufferPointer(rebasing: attribute[..<equals]))
    guard FieldGrammar.equal(name, lowercased: "domain") else { return false }
    let domain = FieldGrammar.trim(UnsafeRawBufferPointer(rebasing: attribute[(equals + 1)...]))
    return isShared(String(decoding: domain, as: UTF8.self))
  }
}
