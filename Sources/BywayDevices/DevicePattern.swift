public import Byway

/// Devices that need not be listed, because their links are alike: `{name}` has the link `ssh://{name}/run/byway.sock`. A value.
public struct DevicePattern: Sendable {
  /// The placeholder for the name.
  public static let placeholder = "{name}"

  /// The pattern as written: `{name}`, or `pi-{name}`.
  public let text: String
  private let prefix: String
  private let suffix: String
  private let links: [String]
  private let read: @Sendable (String) throws -> Link

  /// Creates a pattern and tests it with a name.
  /// - Parameters:
  ///   - text: a device's name, a part of which is `{name}`.
  ///   - links: link addresses, each with `{name}` in it, the best one first.
  ///   - read: makes a link of an address.
  /// - Throws: `BywayError` with code `invalidAddress`, or an error of `read`.
  public init(_ text: String, links: [String], read: @escaping @Sendable (String) throws -> Link) throws {
    guard let place = text.firstRange(of: Self.placeholder) else {
      throw BywayError(.invalidAddress, "\"\(text)\" is not a pattern: \(Self.placeholder) stands for the name.")
    }
    self.text = text
    prefix = text[..<place.lowerBound].lowercased()
    suffix = text[place.upperBound...].lowercased()
    self.links = links
    self.read = read
    guard DeviceName("\(prefix)x\(suffix)") != nil else {
      throw BywayError(.invalidAddress, "\"\(text)\" does not make a device's name: \(DeviceName.rule).")
    }
    guard let example = DeviceName("x") else { return }
    for link in links where !link.contains(Self.placeholder) {
      throw BywayError(
        .invalidAddress, "\(link) is the same link for every name of \(text): write \(Self.placeholder) into it.")
    }
    _ = try makeLinks(for: example)
  }

  /// Returns the device of that name; `nil` if the name does not match.
  func device(named name: DeviceName) throws -> Device? {
    try part(of: name).map { try Device(name, links: makeLinks(for: $0)) }
  }

  func matches(_ name: DeviceName) -> Bool { part(of: name) != nil }

  /// Whether every name matches.
  var isUniversal: Bool { prefix.isEmpty && suffix.isEmpty }

  /// Returns the part for the placeholder: a valid name again, so that it cannot be taken for an option, a path or another host.
  private func part(of name: DeviceName) -> DeviceName? {
    let name = name.text
    guard name.count > prefix.count + suffix.count, name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
    return DeviceName(name.dropFirst(prefix.count).dropLast(suffix.count))
  }

  private func makeLinks(for part: DeviceName) throws -> [Link] {
    try links.map { try read($0.replacing(Self.placeholder, with: part.description)) }
  }
}
