import Primitives

/// The transports of a program, by scheme. Filled at the composition root.
///
/// An immutable value, safe on any thread.
public struct TransportRegistry: Sendable {
  private let transports: [String: any Transport]

  /// If two transports have the same scheme, the later one is used.
  public init(_ transports: [any Transport]) {
    self.transports = Dictionary(transports.map { ($0.scheme, $0) }, uniquingKeysWith: { $1 })
  }

  /// The known schemes, sorted.
  package var schemes: [String] { transports.keys.sorted() }

  func transport(_ scheme: String) -> (any Transport)? { transports[scheme] }

  var listings: [any PortListing] { schemes.compactMap { transports[$0] as? any PortListing } }

  /// Parses an address and finds its transport.
  /// - Throws: ``BywayError`` with code `invalidAddress`, `unknownScheme` or `unknownOption`; the latter two list the known ones, or
  ///   suggest the most similar.
  public func link(_ text: String) throws -> Link {
    try link(LinkAddress(text))
  }

  /// Finds the transport of an address, and lets it check the address.
  /// - Throws: ``BywayError``, as for a text.
  public func link(_ address: LinkAddress) throws -> Link {
    guard let transport = transports[address.scheme] else {
      throw BywayError(
        .unknownScheme,
        "Unknown link scheme \"\(address.scheme)\".\(Spelling.hint(for: address.scheme, among: schemes))")
    }
    let known = (transport.options + LinkOption.common).map(\.name)
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
    if framing == .http1, opening == .listen {
      throw BywayError(.invalidAddress, "\(address): a server of HTTP/1.1 does not dial. Leave out open=listen.")
    }
    _ = try address.jitter()
    try transport.check(address)
    guard let line = try line(of: address, transport) else {
      return Link(address: address, transport: transport, framing: framing, opening: opening)
    }
    let reliable = LineTransport(base: transport, properties: line)
    return Link(address: address, transport: reliable, framing: framing, opening: opening)
  }

  private func line(of address: LinkAddress, _ transport: any Transport) throws -> LineProperties? {
    guard let text = address[option: "line"] else { return try transport.line(for: address) }
    guard let baud = Int(text), (50...100_000_000).contains(baud) else {
      throw BywayError(.invalidAddress, "line=\(text) is not a baud rate: write line=115200, for example.")
    }
    return LineProperties(bytesPerSecond: baud / 10)
  }
}

/// An address with its transport, as found by ``TransportRegistry/link(_:)-(String)``.
public struct Link: Sendable {
  /// The protocol on the stream.
  public enum Framing: String, Sendable {
    /// HTTP/2 with prior knowledge (RFC 9113 §3.3), as spoken by a gateway.
    case http2 = "2"
    /// HTTP/1.1: the remote end is an ordinary server, and each concurrent request needs a stream of its own.
    case http1 = "1.1"
  }

  /// How this end opens the link; the other end does the opposite.
  public enum Opening: String, Sendable {
    /// It asks the transport to connect.
    case dial
    /// It asks the transport to listen, and waits for the other end.
    case listen
  }

  /// The address as written.
  public let address: LinkAddress
  /// The transport that opens it; for a line, including the line layer.
  public let transport: any Transport
  /// HTTP/2, unless the address has `http=1.1`.
  public let framing: Framing
  /// `nil`: the default of this end's role. A gateway listens, all others dial.
  public let opening: Opening?

  /// The transport of the medium itself, without the line layer.
  package var medium: any Transport { (transport as? LineTransport)?.base ?? transport }

  /// Returns the same link over another transport of its scheme.
  package func replacing(medium: any Transport) -> Link {
    let transport = line.map { LineTransport(base: medium, properties: $0) as any Transport } ?? medium
    return Link(address: address, transport: transport, framing: framing, opening: opening)
  }

  /// `nil` where the medium is not a line.
  package var line: LineProperties? { (transport as? LineTransport)?.properties }
}
