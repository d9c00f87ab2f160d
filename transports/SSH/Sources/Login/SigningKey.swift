import Crypto
import CryptoExtras

/// A private key that this process signs with. libssh2 could read key files itself, but it derives their keys on the event
/// loop, and signs with SHA-1 if the key is RSA. So libssh2 only gets the finished signatures.
enum SigningKey: Sendable {
  case ed25519(Curve25519.Signing.PrivateKey)
  case p256(P256.Signing.PrivateKey)
  case p384(P384.Signing.PrivateKey)
  case p521(P521.Signing.PrivateKey)
  case rsa(_RSA.Signing.PrivateKey)

  /// Returns the signature itself, as the RFC of the algorithm defines it. Takes milliseconds for RSA.
  func sign(_ bytes: [UInt8]) throws -> [UInt8] {
    switch self {
    // RFC 8709 §6.
    case .ed25519(let key): try Array(key.signature(for: bytes))
    // RFC 5656 §3.1.2.
    case .p256(let key): Self.pair(try Array(key.signature(for: bytes).rawRepresentation))
    case .p384(let key): Self.pair(try Array(key.signature(for: bytes).rawRepresentation))
    case .p521(let key): Self.pair(try Array(key.signature(for: bytes).rawRepresentation))
    // RFC 8332 §3.
    case .rsa(let key):
      try Array(key.signature(for: SHA512.hash(data: bytes), padding: .insecurePKCS1v1_5).rawRepresentation)
    }
  }

  /// Returns the public part in SSH's encoding.
  func publicBlob() throws -> [UInt8] {
    var writer = WireWriter()
    switch self {
    case .ed25519(let key):
      writer.string("ssh-ed25519".utf8)
      writer.string(Array(key.publicKey.rawRepresentation))
    case .p256(let key): writer.curve("nistp256", Array(key.publicKey.x963Representation))
    case .p384(let key): writer.curve("nistp384", Array(key.publicKey.x963Representation))
    case .p521(let key): writer.curve("nistp521", Array(key.publicKey.x963Representation))
    case .rsa(let key):
      let numbers = try key.publicKey.getKeyPrimitives()
      writer.string("ssh-rsa".utf8)
      writer.mpint(Array(numbers.publicExponent))
      writer.mpint(Array(numbers.modulus))
    }
    return writer.bytes
  }

  private static func pair(_ halves: [UInt8]) -> [UInt8] {
    var writer = WireWriter()
    writer.mpint(halves.prefix(halves.count / 2))
    writer.mpint(halves.suffix(halves.count / 2))
    return writer.bytes
  }
}

extension WireWriter {
  /// RFC 5656 §3.1.
  fileprivate mutating func curve(_ name: String, _ point: [UInt8]) {
    string("ecdsa-sha2-\(name)".utf8)
    string(name.utf8)
    string(point)
  }
}
