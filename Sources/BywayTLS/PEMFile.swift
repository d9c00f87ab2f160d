package import Byway
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
    let bytes = try read().bytes
    guard let certificates = try? NIOSSLCertificate.fromPEMBytes(bytes), !certificates.isEmpty else {
      throw unusable("\(name) contains no certificate in PEM form (-----BEGIN CERTIFICATE-----).", nil)
    }
    return certificates
  }

  /// Without a passphrase. A key that everybody on this machine may read is nobody's, and refused.
  package func privateKey() throws -> NIOSSLPrivateKey {
    let (bytes, status) = try read()
    let key: NIOSSLPrivateKey
    do {
      key = try NIOSSLPrivateKey(bytes: bytes, format: .pem)
    } catch {
      throw unusable("\(name) contains no private key in PEM form without a passphrase.", error)
    }
    if let exposure = status.flatMap({ FileExposure($0, for: .group) }) {
      throw unusable("\(name): \(exposure).", nil)
    }
    return key
  }

  /// Larger than the certificates of all authorities of the web together.
  private static let limit = 4 << 20

  /// - Returns: without a status where it is no file.
  private func read() throws -> (bytes: [UInt8], status: FileStatus?) {
    switch content {
    case .text(let text): return (Array(text.utf8), nil)
    case .path(let path):
      do throws(SmallFile.Failure) {
        // A pipe that nobody writes to would be waited for.
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
