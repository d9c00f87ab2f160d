import Byway
import HTTPWire
import NIOCore
import Primitives

/// By which way a client has come in: what its connection tells of it. On the connection's event loop.
final class Entrance {
  /// Web pages may be among the clients, so that they may not name any host.
  let isGuarded: Bool
  /// TLS ends here.
  let isEncrypted: Bool
  let port: Int?
  /// Where the client is, for logs: `192.0.2.7`, or `unix`.
  let peer: String
  /// The same for what is counted: of IPv6 the network, as one client has all of its addresses (RFC 6177); `nil` on a Unix socket, where
  /// one client cannot be told from another.
  let network: String?
  /// Nobody on the way reads passwords.
  let keepsPasswords: Bool

  private enum Certificate {
    case unread
    case none
    /// Of somebody, or of no person.
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

  /// `nil` for what is no address of IPv6; one that stands for an address of IPv4 is that one.
  static func network(of address: SocketAddress) -> String? {
    guard case .v6(let address) = address else { return nil }
    return withUnsafeBytes(of: address.address.sin6_addr) { bytes in
      let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
      return isMapped ? bytes.suffix(4).map { "\($0)" }.joined(separator: ".") : "\(Hex.text(bytes.prefix(8)))/64"
    }
  }

  /// The user whose certificate the client has shown.
  /// - Returns: `nil` where it has shown none; in it `nil` where that is no person's.
  func certifiedUser(by rules: UserRules) -> UserName?? {
    if case .unread = certificate {
      certificate = readCertificate().map { .read(rules.certified($0)) } ?? .none
    }
    switch certificate {
    case .unread, .none: return nil
    case .read(let user): return .some(user)
    }
  }

  /// What is asked for in origin form over TLS is asked for by https, whatever a client of HTTP/2 calls it.
  func settleScheme(of fields: inout FieldSection, _ users: UserRules?) {
    guard !fields.contains(.targetForm), !fields.asksForTunnel,
      fields.withValue(of: .scheme, { $0.elementsEqual("http".utf8) }) ?? false
    else { return }
    if isEncrypted || isBehindTLS(fields, users) { fields.set(.scheme, "https") }
  }

  /// The reverse proxy that says who somebody is says as well how they have come.
  private func isBehindTLS(_ fields: FieldSection, _ users: UserRules?) -> Bool {
    guard !isGuarded, users?.header != nil else { return false }
    var isSecret = false
    fields.forEachLine { _, name, value in
      if name.elementsEqual("x-forwarded-proto".utf8) { isSecret = FieldGrammar.equal(value, lowercased: "https") }
    }
    return isSecret
  }

  /// Web pages may have a say in what is asked, and be taken for the user whose browser they are in.
  func isJudged(_ users: UserRules?) -> Bool { isGuarded || users?.header != nil }
}
