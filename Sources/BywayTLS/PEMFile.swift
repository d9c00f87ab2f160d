package import Byway
import BywayPrimitives
package import NIOSSL

/// The certificates and keys of a file.
package struct PEMFile: Sendable {
  private enum Content {
    case path(String)
    case text(String)
  }

  private let content: Content
  private let name: String
  private let code: BywayError.Code

  /// - Parameters:
  ///   - name: the name in messages: `ca=FILE`.
  ///   - code: the code of the errors.
  package init(_ path: String, name: String? = nil, code: BywayError.Code = .unreadableFile) {
    content = .path(path)
    self.name = name ?? path
    self.code = code
  }

  /// Creates one from text.
  package init(text: String, name: String) {
    content = .text(text)
    self.name = name
    code = .unreadableFile
  }

  /// Returns the certificates, at least one.
  package func certificates() throws -> [NIOSSLCertificate] {
    let bytes = try read().bytes
    guard let certificates = try? NIOSSLCertificate.fromPEMBytes(bytes), !certificates.isEmpty else {
      throw unusable(
        Self.holds("PRIVATE KEY", bytes)
          ? "\(name) contains a private key, where a certificate belongs: are the two files exchanged?"
          : "\(name) contains no certificate in PEM form (-----BEGIN CERTIFICATE-----).", nil)
    }
    return certificates
  }

  /// Returns the key, which must have no passphrase. A key that other users may read is refused.
  package func privateKey() throws -> NIOSSLPrivateKey {
    let (bytes, status) = try read()
    let key: NIOSSLPrivateKey
    do {
      key = try NIOSSLPrivateKey(bytes: bytes, format: .pem)
    } catch {
      throw unusable(
        Self.holds("CERTIFICATE", bytes)
          ? "\(name) contains a certificate, where a private key belongs: are the two files exchanged?"
          : "\(name) contains no private key in PEM form without a passphrase.", error)
    }
    if let exposure = status.flatMap({ FileExposure($0, for: .group) }) {
      throw unusable("\(name): \(exposure).", nil)
    }
    return key
  }

  /// Whether the content has a part of this kind (RFC 7468 §2).
  private static func holds(_ label: String, _ bytes: [UInt8]) -> Bool {
    String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).contains { line in
      line.hasPrefix("-----BEGIN ") && line.hasSuffix("\(label)-----")
    }
  }

  /// More than the certificates of all web authorities together.
  private static let limit = 4 << 20

  /// - Returns: the content, with `nil` as status if it is not from a file.
  private func read() throws -> (bytes: [UInt8], status: FileStatus?) {
    switch content {
    case .text(let text): return (Array(text.utf8), nil)
    case .path(let path):
      do throws(SmallFile.Failure) {
        // A pipe without a writer would block.
        let file = try SmallFile(path, limit: Self.limit)
        return (file.bytes, file.status)
      } catch {
        throw unusable("Cannot read \(name): \(error).", nil)
      }
    }
  }

  private func unusable(_ message: String, _ cause: (any Error)?) -> BywayError {
    BywayError(code, message, processing: .none, cause: cause)
  }
}
