package import Byway
import Glibc
package import NIOSSL
import Primitives

/// Certificates and keys as they stand in files.
package struct PEMFile: Sendable {
  private enum Content {
    case path(String)
    case text(String)
  }

  private let content: Content
  private let name: String
  private let code: BywayError.Code

  /// - Parameters:
  ///   - name: how messages call it: `ca=FILE`.
  ///   - code: of the errors.
  package init(_ path: String, name: String? = nil, code: BywayError.Code = .unreadableFile) {
    content = .path(path)
    self.name = name ?? path
    self.code = code
  }

  /// One that has been read.
  package init(text: String, name: String) {
    content = .text(text)
    self.name = name
    code = .unreadableFile
  }

  /// At least one.
  package func certificates() throws -> [NIOSSLCertificate] {
    try checkReadable()
    let certificates = Result {
      switch content {
      case .path(let path): try NIOSSLCertificate.fromPEMFile(path)
      case .text(let text): try NIOSSLCertificate.fromPEMBytes(Array(text.utf8))
      }
    }
    guard case .success(let certificates) = certificates, !certificates.isEmpty else {
      throw unusable("\(name) contains no certificate in PEM form (-----BEGIN CERTIFICATE-----).", nil)
    }
    return certificates
  }

  package func privateKey() throws -> NIOSSLPrivateKey {
    try checkReadable()
    do {
      return switch content {
      case .path(let path): try NIOSSLPrivateKey(file: path, format: .pem)
      case .text(let text): try NIOSSLPrivateKey(bytes: Array(text.utf8), format: .pem)
      }
    } catch {
      throw unusable("\(name) contains no private key in PEM form without a passphrase.", error)
    }
  }

  private func checkReadable() throws {
    guard case .path(let path) = content else { return }
    guard access(path, R_OK) == 0 else {
      throw unusable("Cannot read \(name): \(SystemError.last).", nil)
    }
  }

  private func unusable(_ message: String, _ cause: (any Error)?) -> BywayError {
    BywayError(code, message, processing: .none, cause: cause)
  }
}
