package import Byway
import Glibc
package import NIOSSL

/// Certificates and keys as they stand in files.
package struct PEMFile: Sendable {
  private let path: String
  private let name: String
  private let code: BywayError.Code

  /// - Parameters:
  ///   - name: how messages call it: `ca=FILE`.
  ///   - code: of the errors.
  package init(_ path: String, name: String? = nil, code: BywayError.Code = .invalidAddress) {
    self.path = path
    self.name = name ?? path
    self.code = code
  }

  /// At least one.
  package func certificates() throws -> [NIOSSLCertificate] {
    try checkReadable()
    let certificates = Result { try NIOSSLCertificate.fromPEMFile(path) }
    guard case .success(let certificates) = certificates, !certificates.isEmpty else {
      throw unusable("\(name) holds no certificate in PEM form (-----BEGIN CERTIFICATE-----).", nil)
    }
    return certificates
  }

  package func privateKey() throws -> NIOSSLPrivateKey {
    try checkReadable()
    do {
      return try NIOSSLPrivateKey(file: path, format: .pem)
    } catch {
      throw unusable("\(name) holds no private key in PEM form without a passphrase.", error)
    }
  }

  private func checkReadable() throws {
    guard access(path, R_OK) == 0 else {
      throw unusable("Cannot read \(name): \(String(cString: strerror(errno))).", nil)
    }
  }

  private func unusable(_ message: String, _ cause: (any Error)?) -> BywayError {
    BywayError(code, message, processing: .none, cause: cause)
  }
}
