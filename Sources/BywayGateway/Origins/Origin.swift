public import Byway
package import BywayHTTPWire
import BywayPrimitives
import NIOCore

/// The target of a gateway's requests: an HTTP server, reached over TCP, TLS or a Unix socket; or a Swift handler in process.
public struct Origin: Sendable {
  enum Kind: Sendable {
    case http1(Address)
    case http2(Address)
    case handler(@Sendable (Request) async throws -> Response)
  }

  enum Address: Sendable, Hashable {
    case tcp(host: String, port: Int)
    case tls(host: String, port: Int, anchors: String?)
    case unix(path: String)
  }

  struct Place: Sendable, Hashable {
    let host: String
    let port: Int

    /// The host and port, with brackets around an IPv6 address.
    var authority: String { "\(LinkAddress.HostPort(host: host, port: port))" }
  }

  /// The schemes of its addresses.
  package static let schemes = ["http", "https", "h2c", "unix", "h2c+unix"]

  let kind: Kind
  /// The configured text, for messages.
  public let text: String

  /// Reads `http://HOST[:PORT]`, `https://HOST[:PORT][?ca=FILE]`, `h2c://HOST[:PORT]`, `unix:PATH` or `h2c+unix:PATH`.
  /// - Throws: `BywayError` with code `invalidAddress` or `unknownScheme`.
  public init(_ text: String) throws {
    self.text = text
    if let place = LinkAddress.HostPort(text), place.port != nil || !text.contains(":") {
      throw BywayError(
        .invalidAddress,
        "\"\(text)\" has no scheme: write http://\(text) for an HTTP server, or unix:PATH for a socket.")
    }
    let address = try LinkAddress(text)
    let options = address.scheme == "https" ? ["ca"] : []
    for option in address.options where !options.contains(option.name) {
      throw BywayError(
        .unknownOption,
        "Unknown option \"\(option.name)\" of an origin.\(Spelling.hint(for: option.name, among: options))")
    }
    switch address.scheme {
    case "http": kind = .http1(try Self.tcp(address, defaultPort: 80))
    case "h2c": kind = .http2(try Self.tcp(address, defaultPort: 80))
    case "https":
      let target = try Self.hostPort(address)
      kind = .http1(.tls(host: target.host, port: target.port ?? 443, anchors: address[option: "ca"]))
    case "unix": kind = .http1(try Self.unix(address))
    case "h2c+unix": kind = .http2(try Self.unix(address))
    default:
      throw BywayError(
        .unknownScheme,
        "Unknown origin scheme \"\(address.scheme)\"."
          + Spelling.hint(for: address.scheme, among: Self.schemes))
    }
  }

  /// Makes an origin from an async function, without a port or socket. It runs on the link's event loop and must not block.
  public static func handler(_ respond: @escaping @Sendable (Request) async throws -> Response) -> Origin {
    Origin(kind: .handler(respond), text: "handler")
  }

  private init(kind: Kind, text: String) {
    self.kind = kind
    self.text = text
  }

  /// The host and port by which a client may name this origin; `nil` if it has none.
  package var authority: Authority? {
    switch kind {
    case .http1(.tcp(let host, let port)), .http2(.tcp(let host, let port)),
      .http1(.tls(let host, let port, _)), .http2(.tls(let host, let port, _)):
      (try? Host(host)).map { Authority($0, port: UInt16(exactly: port)) }
    default: nil
    }
  }

  package var speaksTLS: Bool {
    if case .http1(.tls) = kind { true } else { false }
  }

  private static func tcp(_ address: LinkAddress, defaultPort: Int) throws -> Address {
    let target = try hostPort(address)
    return .tcp(host: target.host, port: target.port ?? defaultPort)
  }

  private static func hostPort(_ address: LinkAddress) throws -> LinkAddress.HostPort {
    guard address.path.isEmpty || address.path == "/" else {
      throw BywayError(
        .invalidAddress, "An origin cannot have a path, but \(address.text) ends in \(address.path): leave it out.")
    }
    return try address.hostPort()
  }

  private static func unix(_ address: LinkAddress) throws -> Address {
    // Many other programs write "unix:///run/app.sock".
    let path = (address.authority ?? "") + address.path
    guard !path.isEmpty else {
      throw BywayError(.invalidAddress, "\(address.text) has no path: write unix:/run/app.sock.")
    }
    return .unix(path: path)
  }
}
