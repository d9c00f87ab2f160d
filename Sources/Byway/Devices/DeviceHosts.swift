package import HTTPWire

/// Which hosts mean devices: those beneath `localhost`, which browsers resolve to loopback by themselves (RFC 6761 §6.3), and
/// beneath suffixes of one's own.
package struct DeviceHosts: Sendable, Hashable {
  package enum Meaning: Sendable, Hashable {
    case device(DeviceName)
    /// The list of all devices.
    case frontPage
    /// Beneath a suffix, and not the name of any device.
    case notAName(String)
  }

  /// The name that no device has.
  package static let frontPage = "byway"

  /// In lower case, without the dot before them.
  package let suffixes: [String]

  /// Names beneath a suffix that mean no device. Without a port: at any.
  package var reserved: [Authority] = []

  /// Reads domains beneath which hosts mean devices.
  /// - Parameter suffixes: domains besides `localhost`.
  /// - Throws: ``BywayError`` with code `invalidAddress`.
  package init(suffixes: [String] = []) throws {
    let given = try suffixes.map { text in
      let bare = text.hasPrefix(".") ? String(text.dropFirst()) : text
      guard let host = try? Host(bare), case .name(let name) = host else {
        throw BywayError(.invalidAddress, "\"\(text)\" is not a domain: write devices.example, for example.")
      }
      return name
    }
    // The longest that fits is meant.
    self.suffixes = (["localhost"] + given).sorted { $0.utf8.count > $1.utf8.count }
  }

  /// Reads the authority of a request.
  /// - Returns: `nil` where it is reserved, or not beneath any suffix.
  package func meaning(of named: Authority) -> Meaning? {
    guard let meaning = meaning(of: named.host) else { return nil }
    let isReserved = reserved.contains { name in
      name.host == named.host
        && (name.port == nil || name.port == named.port || named.port == nil && (name.port == 80 || name.port == 443))
    }
    return isReserved ? nil : meaning
  }

  /// `nil`: the host is not beneath any of them.
  package func meaning(of host: Host) -> Meaning? {
    guard case .name(let name) = host, let label = label(of: name) else { return nil }
    if label == Self.frontPage { return .frontPage }
    return DeviceName(label).map { .device($0) } ?? .notAName(String(label))
  }

  /// What stands before a suffix and its dot.
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

  /// A domain whose cookies several devices would share.
  /// - Parameter domain: in lower case.
  func isShared(_ domain: String) -> Bool {
    suffixes.contains { $0 == domain || $0.hasSuffix(".\(domain)") }
  }
}
