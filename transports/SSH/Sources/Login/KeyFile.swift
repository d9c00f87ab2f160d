internal import Byway
internal import Glibc

/// A private key file, read and not yet unlocked.
struct KeyFile: Sendable {
  enum Problem: Error, Hashable {
    case file(SmallFile.Failure)
    /// Others on this machine may read it.
    case exposed(mode: mode_t)
    case unreadable
    case encryptedPEM
    case unsupported(String)
    case noPassphrase
    case wrongPassphrase
  }

  private enum Content: Sendable {
    case openSSH(OpenSSHKeyFile)
    case pem(SigningKey)
  }

  private static let limit = 1 << 20

  let path: String
  let publicKey: PublicKey
  private let content: Content

  /// Blocks.
  init(path: String) throws(Problem) {
    var file: SmallFile.Content
    do {
      file = try SmallFile.read(path, limit: Self.limit)
    } catch {
      throw .file(error)
    }
    defer { file.bytes.wipe() }
    // As ssh does: a file of ours that others can read is not a secret.
    if file.owner == getuid(), file.mode & 0o077 != 0 { throw .exposed(mode: file.mode & 0o777) }
    guard let text = String(validating: file.bytes, as: UTF8.self) else { throw .unreadable }
    self.path = path
    if let body = Self.body(of: text, label: "OPENSSH PRIVATE KEY") {
      guard var bytes = Base64.decode(body) else { throw .unreadable }
      defer { bytes.wipe() }
      let key = try OpenSSHKeyFile(bytes)
      publicKey = key.publicKey
      content = .openSSH(key)
    } else {
      guard !text.contains("ENCRYPTED") else { throw .encryptedPEM }
      let body = Self.body(of: text, label: "PRIVATE KEY").flatMap { Base64.decode($0) }
      guard let key = SigningKey(pem: text) ?? body.flatMap(SigningKey.init(ed25519:)),
        let blob = try? key.publicBlob(), let publicKey = PublicKey(blob)
      else {
        throw .unreadable
      }
      self.publicKey = publicKey
      content = .pem(key)
    }
  }

  var isEncrypted: Bool {
    if case .openSSH(let key) = content { key.isEncrypted } else { false }
  }

  /// Blocks: see ``OpenSSHKeyFile/unlock(_:)``.
  func unlock(_ passphrase: Secret?) throws(Problem) -> SigningKey {
    switch content {
    case .openSSH(let key): try key.unlock(passphrase)
    case .pem(let key): key
    }
  }

  /// The digits between the two lines of dashes.
  private static func body(of text: String, label: String) -> [UInt8]? {
    let lines = text.split(whereSeparator: \.isNewline)
    guard let start = lines.firstIndex(of: "-----BEGIN \(label)-----"),
      let end = lines[start...].firstIndex(of: "-----END \(label)-----")
    else { return nil }
    return lines[lines.index(after: start)..<end].flatMap { $0.utf8.filter { $0 > 0x20 } }
  }
}

extension KeyFile.Problem: CustomStringConvertible {
  /// Follows a path and a colon.
  var description: String {
    switch self {
    case .file(let failure): failure.description
    case .exposed(let mode):
      "others may read it (mode \(String(mode, radix: 8))), so it is not used: run chmod 600 on it"
    case .unreadable: "it is not a private key, or damaged"
    case .encryptedPEM: "an encrypted PEM file is not supported: ssh-keygen -p -f FILE converts it"
    case .unsupported(let what): "\(what) is not supported: use it through the ssh-agent"
    case .noPassphrase: "it is encrypted: give passphrase=env:NAME, or add it to the ssh-agent"
    case .wrongPassphrase: "the passphrase is wrong"
    }
  }
}
