import Byway
import BywayHTTPWire
import NIOCore

/// The parts of a `ws:` or `wss:` address.
struct WebSocketTarget: Sendable {
  static let ownOptions = [
    LinkOption("token-file", "file with the bearer token that the dialing end sends and the listening end demands"),
    LinkOption("proxy", "http://[USER@]HOST:PORT, an HTTP proxy on the way to the listening end"),
    LinkOption(
      "proxy-password", "file, or env:NAME for the environment variable, that holds the password for the proxy"),
  ]
  /// The options of the stream below that these addresses have as well.
  static let sharedOptions = ["ca", "cert", "key", "clients", "name", "insecure"]

  let address: LinkAddress
  let isSecure: Bool
  let path: String
  let tokenFile: String?
  let proxy: ProxyRoute?
  /// The address of the TCP or TLS connection.
  let below: LinkAddress
  private let place: LinkAddress.HostPort

  init(_ address: LinkAddress) throws {
    self.address = address
    isSecure = address.scheme == "wss"
    var place = try address.hostPort()
    guard place.user == nil else {
      throw BywayError(.invalidAddress, "\(address.scheme): addresses have no user: use token-file=FILE.")
    }
    place.port = place.port ?? (isSecure ? 443 : 80)
    self.place = place
    path = address.path.isEmpty ? "/" : address.path
    guard path.utf8.withContiguousStorageIfAvailable({ FieldGrammar.isTarget(UnsafeRawBufferPointer($0)) }) ?? false,
      !path.contains("#")
    else {
      throw BywayError(
        .invalidAddress, "The path in \(address) has a character that no path may have: write it as %XX, with its code."
      )
    }
    tokenFile = address[option: "token-file"]
    guard tokenFile != "" else {
      throw BywayError(.invalidAddress, "token-file= in \(address) is empty: give it a value, or leave it out.")
    }
    proxy = try ProxyRoute(address)
    var options = address.options.filter { Self.sharedOptions.contains($0.name) }
    // The protocol that TLS agrees on (ALPN) is HTTP/1.1, whatever the link carries.
    options.append(.init(name: "http", value: "1.1"))
    // A token identifies clients, too.
    if isSecure, tokenFile != nil, address[option: "ca"] == nil, address[option: "clients"] == nil {
      options.append(.init(name: "clients", value: "any"))
    }
    below = address.below(scheme: isSecure ? "tls" : "tcp", place: place, options: options)
  }

  /// The host, and the port unless it is the usual one.
  var authority: String {
    let usual = isSecure ? 443 : 80
    return "\(LinkAddress.HostPort(host: place.host, port: place.port == usual ? nil : place.port))"
  }

  /// The host and port.
  var hostPort: String { "\(place)" }

  /// Plain connections do not leave this machine, even through a proxy.
  func checkPrivacy() throws {
    guard !isSecure else { return }
    let host = place.host.lowercased()
    let isLoopback =
      host == "localhost" || host.hasSuffix(".localhost")
      || (try? SocketAddress(ipAddress: host, port: 0))?.isLoopback == true
    if isLoopback { return }
    if try address.isInsecure() { return }
    throw BywayError(
      .invalidAddress,
      "\(address) is not on this machine, and ws: protects nothing: use wss://\(place.host)\(address.path), or 127.0.0.1."
    )
  }

  func token(code: BywayError.Code = .linkUnavailable) throws(BywayError) -> BearerToken? {
    guard let tokenFile else { return nil }
    return try BearerToken(file: tokenFile, code: code)
  }

  /// Returns the same address with the port that a listener has bound.
  func bound(to port: Int) throws -> LinkAddress {
    let query = address.text.firstIndex(of: "?").map { address.text[$0...] } ?? ""
    var place = place
    place.port = port
    return try LinkAddress("\(address.scheme)://\(place)\(address.path)\(query)")
  }
}
