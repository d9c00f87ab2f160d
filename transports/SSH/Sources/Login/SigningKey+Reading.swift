import Crypto
import CryptoExtras

extension SigningKey {
  /// Reads one key of the private part of OpenSSH's format (PROTOCOL.key). Returns `nil` for a type that cannot sign here.
  init?(openSSH reader: inout WireReader) throws {
    switch reader.text() {
    case "ssh-ed25519":
      guard reader.string() != nil, let pair = reader.string(), pair.count == 64 else { return nil }
      // The seed, then the public key again.
      self = .ed25519(try .init(rawRepresentation: Array(pair.prefix(32))))
    case "ecdsa-sha2-nistp256":
      guard let number = Self.scalar(&reader, bytes: 32) else { return nil }
      self = .p256(try .init(rawRepresentation: number))
    case "ecdsa-sha2-nistp384":
      guard let number = Self.scalar(&reader, bytes: 48) else { return nil }
      self = .p384(try .init(rawRepresentation: number))
    case "ecdsa-sha2-nistp521":
      guard let number = Self.scalar(&reader, bytes: 66) else { return nil }
      self = .p521(try .init(rawRepresentation: number))
    case "ssh-rsa":
      guard let n = reader.mpint(), let e = reader.mpint(), let d = reader.mpint(), reader.mpint() != nil,
        let p = reader.mpint(), let q = reader.mpint()
      else { return nil }
      self = .rsa(try .init(n: Array(n), e: Array(e), d: Array(d), p: Array(p), q: Array(q)))
    default: return nil
    }
  }

  /// Reads an unencrypted PEM file: PKCS #1, SEC 1 or PKCS #8. Returns `nil` for any other kind.
  init?(pem: String) {
    if let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) {
      self = .p256(key)
    } else if let key = try? P384.Signing.PrivateKey(pemRepresentation: pem) {
      self = .p384(key)
    } else if let key = try? P521.Signing.PrivateKey(pemRepresentation: pem) {
      self = .p521(key)
    } else if let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem) {
      self = .rsa(key)
    } else {
      return nil
    }
  }

  /// Reads an ed25519 key in PKCS #8, which is always the same 16 bytes and the seed (RFC 8410 §7). Returns `nil` for anything
  /// else.
  init?(ed25519 der: [UInt8]) {
    let start: [UInt8] = [0x30, 0x2E, 2, 1, 0, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20]
    guard der.count == start.count + 32, der.starts(with: start),
      let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: der[start.count...])
    else { return nil }
    self = .ed25519(key)
  }

  /// Reads the private number, which follows the curve's name and the public point.
  private static func scalar(_ reader: inout WireReader, bytes count: Int) -> [UInt8]? {
    guard reader.string() != nil, reader.string() != nil, let number = reader.mpint(), number.count <= count else {
      return nil
    }
    return [UInt8](repeating: 0, count: count - number.count) + number
  }
}
