import BywayPrimitives

/// The address of a link: a URI such as `unix:/run/byway.sock`, `tcp://127.0.0.1:7000` or `exec:COMMAND ARGS`.
///
/// The address is split here and checked by the transport of its scheme through ``TransportRegistry``. An immutable value, safe on any
/// thread.
public struct LinkAddress: Sendable, Hashable {
  /// An option: a `name=value` after the question mark, percent-decoded.
  public struct Option: Sendable, Hashable {
    /// The part before the equals sign.
    public var name: String
    /// The part after it.
    public var value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The scheme in lower case, without the colon.
  public let scheme: String
  /// The part after `//`, up to the next slash: `user@host:port`. `nil` without `//`.
  public let authority: String?
  /// The part after the scheme or the authority, as written.
  public let path: String
  /// The options in the order written.
  public let options: [Option]
  /// The address as it was written.
  public let text: String

  /// Parses an address. ``TransportRegistry`` checks whether its transport can use it.
  /// - Throws: ``BywayError`` with code `invalidAddress`, which says what is missing.
  public init(_ text: String) throws {
    self.text = text
    guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else {
      throw BywayError(
        .invalidAddress, "\"\(text)\" is not a link address: write SCHEME:…, for example unix:/run/byway.sock.")
    }
    let scheme = text[..<colon].lowercased()
    guard
      scheme.utf8.allSatisfy({ (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0) })
    else {
      throw BywayError(.invalidAddress, "\"\(text[..<colon])\" is not a scheme: letters, digits, +, - and . only.")
    }
    self.scheme = scheme
    var rest = text[text.index(after: colon)...]

    options = try Self.splitOptions(from: &rest, isCommand: scheme == "exec")
    if scheme != "exec", rest.hasPrefix("//") {
      let start = rest.dropFirst(2)
      let end = start.firstIndex(of: "/") ?? start.endIndex
      authority = String(start[..<end])
      path = String(start[end...])
    } else {
      authority = nil
      path = String(rest)
    }
  }

  /// The address without its options: a device, a file, a port.
  package var place: String {
    authority.map { "\(scheme)://\($0)\(path)" } ?? "\(scheme):\(path)"
  }

  private init(_ address: LinkAddress, options: [Option]) {
    (scheme, authority, path, text) = (address.scheme, address.authority, address.path, address.text)
    self.options = options
  }

  /// The same address with an option that its text does not show.
  package func adding(_ option: Option) -> LinkAddress {
    LinkAddress(self, options: options + [option])
  }

  /// The address of the stream below this link, for the transport that opens it: another scheme, a place without a path, and options of its
  /// own. Messages show it as this address was written.
  package func below(scheme: String, place: HostPort, options: [Option]) -> LinkAddress {
    LinkAddress(scheme: scheme, authority: "\(place)", path: "", options: options, text: text)
  }

  private init(scheme: String, authority: String?, path: String, options: [Option], text: String) {
    (self.scheme, self.authority, self.path, self.options, self.text) = (scheme, authority, path, options, text)
  }

  /// The same address with the known spelling of options that differ in hyphens and underscores only: `known-hosts` for `known_hosts`.
  func spellingOptions(as known: [String]) -> LinkAddress {
    func plain(_ name: String) -> String { name.replacing("_", with: "-") }
    let spelt = options.map { option in
      Option(name: known.first { plain($0) == plain(option.name) } ?? option.name, value: option.value)
    }
    return spelt == options ? self : LinkAddress(self, options: spelt)
  }

  /// The value of an option; the last one where it is given twice.
  public subscript(option name: String) -> String? {
    options.last { $0.name == name }?.value
  }

  /// Cuts `?name=value&…` off the end.
  ///
  /// A command may contain question marks of its own, so there only the last one counts, and only if all that follows is options that every
  /// link has.
  private static func splitOptions(from rest: inout Substring, isCommand: Bool) throws -> [Option] {
    guard let mark = isCommand ? rest.lastIndex(of: "?") : rest.firstIndex(of: "?") else { return [] }
    let query = rest[rest.index(after: mark)...]
    var options: [Option] = []
    for part in query.split(separator: "&", omittingEmptySubsequences: true) {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, !pair[0].isEmpty, let value = PercentEncoding.decode(pair[1]) else {
        if isCommand { return [] }
        throw BywayError(.invalidAddress, "\"\(part)\" is not an option: write ?name=value.")
      }
      if isCommand, !LinkOption.common.contains(where: { $0.name == pair[0] }) { return [] }
      options.append(Option(name: String(pair[0]), value: value))
    }
    rest = rest[..<mark]
    return options
  }
}

extension LinkAddress: CustomStringConvertible {
  public var description: String { text }
}
