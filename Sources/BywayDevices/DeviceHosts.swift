package import Byway
package import BywayHTTPWire

/// The hosts that mean devices: those below `localhost`, which browsers resolve to loopback themselves (RFC 6761 §6.3), and below
/// configured suffixes.
package struct DeviceHosts: Sendable, Hashable {
  package enum Meaning: Sendable, Hashable {
    case device(DeviceName)
    /// The list of all devices.
    case frontPage
    /// Below a suffix, and not a valid name of a device.
    case notAName(String)
  }

  /// The name of the list, which no device has.
  package static let frontPage = "byway"

  /// The suffixes, in lower case and without the leading dot.
  package let suffixes: [String]

  /// Names below a suffix that mean no device. Without a port: with any port.
  package var reserved: [Authority] = []

  /// Creates the domains below which hosts mean devices.
  /// - Parameter suffixes: domains in addition to `localhost`.
  /// - Throws: `BywayError` with code `invalidAddress`.
  package init(suffixes: [String] = []) throws {
    let given = try suffixes.map { text in
      let bare = text.hasPrefix(".") ? String(text.dropFirst()) : text
      guard let host = try? Host(bare), case .name(let name) = host else {
        throw BywayError(.invalidAddress, "\"\(text)\" is not a domain: write devices.example, for example.")
      }
      return name
    }
    // The longest matching suffix applies.
    self.suffixes = (["localhost"] + given).sorted { $0.utf8.count > $1.utf8.count }
  }

  /// Returns the meaning of a request's authority.
  /// - Returns: `nil` if it is reserved, or not below any suffix.
  package func meaning(of named: Authority) -> Meaning? {
    guard let meaning = meaning(of: named.host) else { return nil }
    let isReserved = reserved.contains { name in
      name.host == named.host
        && (name.port == nil || name.port == named.port || named.port == nil && (name.port == 80 || name.port == 443))
    }
    return isReserved ? nil : meaning
  }

  /// Returns `nil` if the host is not below any suffix.
  package func meaning(of host: Host) -> Meaning? {
    guard case .name(let name) = host, let label = label(of: name) else { return nil }
    if label == Self.frontPage { return .frontPage }
    return DeviceName(label).map { .device($0) } ?? .notAName(String(label))
  }

  /// Returns the part before a suffix and its dot.
  private func label(of name: String) -> Substring? {
    for suffix in suffixes {
      let count = name.utf8.count - suffix.utf8.count - 1
      guard count >= 0 else { continue }
      let rest = name.utf8.dropFirst(count)
      if rest.first == UInt8(ascii: "."), rest.dropFirst().elementsEqual(suffix.utf8) {
        return Substring(name.utf8.prefix(count))
      }
    }
    return nil
  }

  /// Whether several devices would share the cookies of a domain.
  /// - Parameter domain: in lower case.
  func isShared(_ domain: String) -> Bool {
    suffixes.contains { $0 == domain || $0.hasSuffix(".\(domain)") }
  }
}
