import Byway
import BywayHTTPWire
import BywayPrimitives
import NIOCore

/// The context of a client's connection: what it tells about the client. Used on the connection's event loop.
final class ConnectionContext {
  /// Whether web pages may be among the clients, so that requests may not name any host.
  let isGuarded: Bool
  /// Whether TLS ends here.
  let isEncrypted: Bool
  let port: Int?
  /// The client's address for logs: `192.0.2.7`, or `unix`.
  let peer: String
  /// The client's address for counting. For IPv6 it is the network, because one client has all addresses in it (RFC 6177); `nil` on a
  /// Unix socket, where clients cannot be distinguished.
  let network: String?
  /// Whether passwords cannot be read on the way.
  let keepsPasswords: Bool

  private enum Certificate {
    case unread
    case none
    /// A certificate; `nil` in it: it does not name a user.
    case read(UserName?)
  }

  private let readCertificate: () -> [UInt8]?
  private var certificate = Certificate.unread

  init(_ channel: any Channel, by listen: Link) {
    let transport = listen.transport
    isGuarded = transport.audience(of: listen.address) != .programs
    isEncrypted = transport.isEncrypted(listen.address)
    port = channel.localAddress?.port
    let remote = channel.remoteAddress
    peer = remote?.ipAddress ?? "unix"
    network = remote.flatMap(Self.network) ?? remote?.ipAddress
    keepsPasswords = isEncrypted || !isGuarded || channel.localAddress?.isLoopback ?? false
    readCertificate = { [weak channel] in channel.flatMap { transport.certificate(of: $0) } }
  }

  /// Returns the /64 network of an IPv6 address, or the IPv4 address that it maps; `nil` for other addresses.
  static func network(of address: SocketAddress) -> String? {
    guard case .v6 = address, let bytes = address.peerBytes else { return nil }
    return bytes.count == 4 ? bytes.map { "\($0)" }.joined(separator: ".") : "\(Hex.text(bytes))/64"
  }

  /// Returns the user named by the client's certificate.
  /// - Returns: `nil` if the client has sent none; an inner `nil` if the certificate does not name a user.
  func certifiedUser(by rules: UserRules) -> UserName?? {
    if case .unread = certificate {
      certificate = readCertificate().map { .read(rules.certified($0)) } ?? .none
    }
    switch certificate {
    case .unread, .none: return nil
    case .read(let user): return .some(user)
    }
  }

  /// Sets the scheme of a request in origin form over TLS to https, even if an HTTP/2 client sent http.
  func settleScheme(of request: inout ExchangeHead, _ users: UserRules?) {
    guard !request.isAbsolute, request.kind != .connect, request.scheme == .http else { return }
    if isEncrypted || isBehindTLS(request.fields, users) { request.set(.scheme, "https") }
  }

  /// Whether the request reached a reverse proxy over TLS. The reverse proxy that names the user reports this too.
  private func isBehindTLS(_ fields: FieldSection, _ users: UserRules?) -> Bool {
    guard !isGuarded, users?.header != nil else { return false }
    var isSecret = false
    fields.forEachLine { _, name, value in
      if name.elementsEqual("x-forwarded-proto".utf8) { isSecret = FieldGrammar.equal(value, lowercased: "https") }
    }
    return isSecret
  }

  /// Whether ``PageRules`` apply: a web page may cause requests, which would count as requests of the user of that browser.
  func isJudged(_ users: UserRules?) -> Bool { isGuarded || users?.header != nil }
}
