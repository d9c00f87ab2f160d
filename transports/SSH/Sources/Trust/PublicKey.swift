import Byway
import BywayPrimitives
import Crypto

/// A public key in SSH's encoding (RFC 4253 §6.6), described in the format of `ssh-keygen -l`.
package struct PublicKey: Sendable, Hashable {
  package let blob: [UInt8]
  /// `ssh-ed25519`, `ecdsa-sha2-nistp256`.
  package let type: String

  /// Returns `nil` if the bytes do not start with the name of a type.
  package init?(_ blob: [UInt8]) {
    var reader = WireReader(blob)
    guard let type = reader.text(), Self.isName(type), !reader.isAtEnd else { return nil }
    self.blob = blob
    self.type = type
  }

  /// Reads a line of a `.pub` file: type, key, comment.
  init?(line: some StringProtocol) {
    let fields = line.split(maxSplits: 2, whereSeparator: \.isWhitespace)
    guard fields.count >= 2, let key = Base64.decode(Array(fields[1].utf8)).flatMap(PublicKey.init),
      key.type == fields[0]
    else { return nil }
    self = key
  }

  /// `SHA256:` and the hash in base64 without padding.
  var fingerprint: String { "SHA256:" + Base64.encode(Array(SHA256.hash(data: blob)), padded: false) }

  var family: String {
    if type.hasPrefix("ecdsa-") { return "ECDSA" }
    return switch type {
    case "ssh-ed25519": "ED25519"
    case "ssh-rsa": "RSA"
    case "ssh-dss": "DSA"
    default: type
    }
  }

  /// The algorithm that the key signs with: SHA-2 for RSA (RFC 8332 §2), as SHA-1 is refused nowadays.
  var signatureAlgorithm: String { type == "ssh-rsa" ? "rsa-sha2-512" : type }

  /// Whether the text is a valid name (RFC 4251 §6): printable, without comma, at most 64 characters. A name appears in
  /// messages and files.
  private static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x2C }
  }
}

extension PublicKey: CustomStringConvertible {
  package var description: String { "\(family) \(fingerprint)" }
}
