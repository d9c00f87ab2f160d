import BywayPrimitives

/// The transports of a program, by scheme. Filled at the composition root.
///
/// An immutable value, safe on any thread.
public struct TransportRegistry: Sendable {
  private let transports: [String: any Transport]
  private let omitted: [String: String]

  /// If two transports have the same scheme, the later one is used.
  /// - Parameters:
  ///   - transports: the transports of all links.
  ///   - omitted: the schemes that this build of the program lacks, each with a sentence that says what to do.
  public init(_ transports: [any Transport], omitted: [String: String] = [:]) {
    self.transports = Dictionary(transports.map { ($0.scheme, $0) }, uniquingKeysWith: { $1 })
    self.omitted = omitted
  }

  /// The known schemes, sorted.
  package var schemes: [String] { transports.keys.sorted() }

  /// The forms of addresses, sorted by scheme.
  package var forms: [AddressForm] { schemes.flatMap { transports[$0]?.forms ?? [] } }

  /// Returns the options of a scheme, and then those of every link.
  /// - Throws: ``BywayError`` with code `unknownScheme`, which suggests the most similar scheme.
  package func options(of scheme: String) throws -> [LinkOption] {
    guard let transport = transports[scheme.lowercased()] else { throw unknown(scheme) }
    return transport.options + LinkOption.common
  }

  private func unknown(_ scheme: String) -> BywayError {
    if let advice = omitted[scheme.lowercased()] {
      return BywayError(.unknownScheme, "This program was built without links of \(scheme.lowercased()):. \(advice)")
    }
    return BywayError(.unknownScheme, "Unknown link scheme \"\(scheme)\".\(Spelling.hint(for: scheme, among: schemes))")
  }

  func transport(_ scheme: String) -> (any Transport)? { transports[scheme] }

  /// Returns the ports of every transport that can list them, by scheme.
  package func ports() throws -> [LinkPort] {
    try schemes.flatMap { try (transports[$0] as? any PortListing)?.ports() ?? [] }
  }

  /// Parses an address and finds its transport.
  /// - Throws: ``BywayError`` with code `invalidAddress`, `unknownScheme` or `unknownOption`; the latter two list the known ones, or
  ///   suggest the most similar.
  public func link(_ text: String) throws -> Link {
    try link(LinkAddress(text))
  }

  /// Finds the transport of an address, and lets it check the address.
  /// - Throws: ``BywayError``, as for a text.
  public func link(_ address: LinkAddress) throws -> Link {
    try link(address, isHub: false)
  }

  /// Finds the transport of a hub's address. With `http=1.1`, boards dial it: each begins with a greeting, and then a line.
  /// - Throws: ``BywayError``, as for a text.
  package func hub(_ address: LinkAddress) throws -> Link {
    let link = try link(address, isHub: true)
    if link.framing == .http1, link.isLine {
      throw BywayError(
        .invalidAddress, "\(address): a hub with http=1.1 is for connections, not for a line: use tcp:, tls: or unix:.")
    }
    return link
  }

  private func link(_ address: LinkAddress, isHub: Bool) throws -> Link {
    guard let transport = transports[address.scheme] else { throw unknown(address.scheme) }
    let known = (transport.options + LinkOption.common).map(\.name)
    let address = address.spellingOptions(as: known)
    for option in address.options where !known.contains(option.name) {
      throw BywayError(
        .unknownOption,
        "Unknown option \"\(option.name)\" of \(address.scheme):.\(Spelling.hint(for: option.name, among: known))")
    }
    let http = address[option: "http"] ?? "2"
    guard let framing = Link.Framing(rawValue: http) else {
      throw BywayError(.invalidAddress, "http=\(http) is unknown: write http=2 or http=1.1.")
    }
    let opening = try address[option: "open"].map { word in
      guard let opening = Link.Opening(rawValue: word) else {
        throw BywayError(.invalidAddress, "open=\(word) is unknown: write open=dial or open=listen.")
      }
      return opening
    }
    if framing == .http1, opening == .listen, !isHub {
      throw BywayError(
        .invalidAddress,
        "\(address): a server of HTTP/1.1 does not dial, and byway-mini dials a hub. Leave out open=listen.")
    }
    _ = try address.jitter()
    try transport.check(address)
    let line = try line(of: address, transport)
    let console = try ConsoleSettings(address, opening: opening, line: line)
    // A terminal may show other text at any time, and the gateway outlives the connection.
    return Link(
      address: address, medium: transport, line: line ?? console.map { _ in LineProperties(bytesPerSecond: nil) },
      console: console, framing: framing, opening: opening)
  }

  private func line(of address: LinkAddress, _ transport: any Transport) throws -> LineProperties? {
    guard let text = address[option: "line"] else { return try transport.line(for: address) }
    guard let baud = Int(text), (50...100_000_000).contains(baud) else {
      throw BywayError(.invalidAddress, "line=\(text) is not a baud rate: write line=115200, for example.")
    }
    return LineProperties(bytesPerSecond: baud / 10)
  }
}
