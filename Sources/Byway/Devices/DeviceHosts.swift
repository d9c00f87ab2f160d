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

  /// - Parameter suffixes: domains besides `localhost`.
  /// - Throws: ``BywayError`` with code `invalidAddress`.
  package init(suffixes: [String] = []) throws {
    self.suffixes =
      try ["localhost"]
      + suffixes.map { text in
        let bare = text.hasPrefix(".") ? String(text.dropFirst()) : text
        guard let host = try? Host(bare), case .name(let name) = host else {
          throw BywayError(.invalidAddress, "\"\(text)\" is not a domain: write devices.example, for example.")
        }
        return name
      }
  }

  /// `nil`: the host is not beneath any of them.
  package func meaning(of host: Host) -> Meaning? {
    guard case .name(let name) = host,
      let suffix = suffixes.first(where: { name.hasSuffix($0) && name.dropLast($0.count).last == "." })
    else { return nil }
    let label = name.dropLast(suffix.count + 1)
    if label == Self.frontPage { return .frontPage }
    return DeviceName(label).map { .device($0) } ?? .notAName(String(label))
  }

  /// A domain whose cookies several devices would share.
  func isShared(_ domain: some StringProtocol) -> Bool {
    let domain = (domain.hasPrefix(".") ? String(domain.dropFirst()) : String(domain)).lowercased()
    return suffixes.contains { $0 == domain || $0.hasSuffix(".\(domain)") }
  }
}
