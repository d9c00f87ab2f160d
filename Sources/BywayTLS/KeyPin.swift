import Byway
import BywayPrimitives
package import NIOSSL

/// The SHA-256 of a server's public key (its SubjectPublicKeyInfo), which is unchanged when its certificate is renewed with the same key.
/// Written as in curl's `--pinnedpubkey`: `sha256//BASE64`.
public struct KeyPin: Sendable, Hashable, CustomStringConvertible {
  private static let prefix = "sha256//"

  private let digest: [UInt8]

  /// Reads a pin: `sha256//` and 32 bytes in base64.
  /// - Throws: `BywayError` with code `invalidAddress`.
  public init(_ text: String) throws {
    guard text.hasPrefix(Self.prefix), let digest = Base64.decode(text.utf8.dropFirst(Self.prefix.utf8.count)),
      digest.count == MessageDigest.sha256Length
    else {
      throw BywayError(
        .invalidAddress, "\"\(text)\" is not a pin: write sha256// and the key's SHA-256 in base 64.", processing: .none
      )
    }
    self.digest = digest
  }

  /// Returns `nil` if the certificate's key cannot be read.
  package init?(_ certificate: NIOSSLCertificate) {
    guard let key = try? certificate.extractPublicKey().toSPKIBytes() else { return nil }
    digest = MessageDigest.sha256(of: key)
  }

  public var description: String { Self.prefix + Base64.encode(digest) }
}
