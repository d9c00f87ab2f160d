import Byway
import BywayLibC
package import BywayPrimitives

/// A private key file that was read.
package struct KeyFile: Sendable {
  package enum Problem: Error, Hashable {
    case file(SmallFile.Failure)
    /// Other users of this machine may read it.
    case exposed(FileExposure)
    case unreadable
    case unsupported(String)
  }

  enum PrivateKey: Sendable {
    case clear(SigningKey)
    case locked(LockedKey)
    case unusable(Problem)
  }

  private static let limit = 1 << 20

  let path: String
  let publicKey: PublicKey
  let privateKey: PrivateKey

  /// Blocks.
  init(path: String) throws(Problem) {
    var file: SmallFile
    do {
      file = try SmallFile(path, limit: Self.limit)
    } catch {
      throw .file(error)
    }
    defer { file.bytes.wipe() }
    // Like ssh, refuses a file of ours that other users can read.
    if file.status.owner == getuid(), let exposure = FileExposure(file.status, for: .owner) {
      throw .exposed(exposure)
    }
    guard let text = file.text else { throw .unreadable }
    self.path = path
    if let body = Self.body(of: text, label: "OPENSSH PRIVATE KEY") {
      guard var bytes = Base64.decode(body) else { throw .unreadable }
      defer { bytes.wipe() }
      let key = try OpenSSHKeyFile(bytes)
      publicKey = key.publicKey
      privateKey = key.privateKey
    } else {
      guard !text.contains("ENCRYPTED") else { throw .unsupported("an encrypted PEM file") }
      let body = Self.body(of: text, label: "PRIVATE KEY").flatMap { Base64.decode($0) }
      guard let key = SigningKey(pem: text) ?? body.flatMap(SigningKey.init(ed25519:)),
        let blob = try? key.publicBlob(), let publicKey = PublicKey(blob)
      else {
        throw .unreadable
      }
      self.publicKey = publicKey
      privateKey = .clear(key)
    }
  }

  /// The base64 digits between the BEGIN and END lines.
  private static func body(of text: String, label: String) -> [UInt8]? {
    let lines = text.split(whereSeparator: \.isNewline)
    guard let start = lines.firstIndex(of: "-----BEGIN \(label)-----"),
      let end = lines[start...].firstIndex(of: "-----END \(label)-----")
    else { return nil }
    return lines[lines.index(after: start)..<end].flatMap { $0.utf8.filter { $0 > 0x20 } }
  }
}

extension KeyFile.Problem: CustomStringConvertible {
  /// A clause that follows a path and a colon.
  package var description: String {
    switch self {
    case .file(let failure): failure.description
    case .exposed(let exposure): exposure.description
    case .unreadable: "it is not a private key, or damaged"
    case .unsupported(let what): "\(what) is not supported: use it through the ssh-agent (ssh-add FILE)"
    }
  }
}
