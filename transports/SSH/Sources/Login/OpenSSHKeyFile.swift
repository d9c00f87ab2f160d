import Byway
import BywayPrimitives

/// A private key in OpenSSH's own format (PROTOCOL.key): a clear public part and a private part, which may be encrypted.
struct OpenSSHKeyFile: Sendable {
  /// Limits the rounds of bcrypt that a file may ask for. `ssh-keygen -a` is seldom given more than a few hundred. Two thousand
  /// take about ten seconds.
  private static let maximumRounds = 2048
  /// The ciphers of `ssh-keygen -Z` that libssh2 1.10 reads. The others need an authenticated mode.
  private static let ciphers: Set = [
    "aes256-ctr", "aes192-ctr", "aes128-ctr", "aes256-cbc", "aes192-cbc", "aes128-cbc", "3des-cbc",
  ]

  let publicKey: PublicKey
  let privateKey: KeyFile.PrivateKey

  /// - Parameter bytes: the decoded text between the BEGIN and END lines.
  init(_ bytes: [UInt8]) throws(KeyFile.Problem) {
    let magic = Array("openssh-key-v1\0".utf8)
    var reader = WireReader(bytes)
    guard let start = reader.bytes(magic.count), start.elementsEqual(magic), let cipher = reader.text(),
      let derivation = reader.text(), let options = reader.string(), reader.uint32() == 1,
      let blob = reader.string(), let publicKey = PublicKey(Array(blob)), let section = reader.string()
    else { throw .unreadable }
    self.publicKey = publicKey
    guard cipher != "none" else {
      privateKey = try Self.clear(section, of: publicKey)
      return
    }
    if let unsupportedFeature = try Self.unsupportedFeature(cipher, derivation, options, publicKey) {
      privateKey = .unusable(.unsupported(unsupportedFeature))
    } else {
      // libssh2 assumes that there is something to decrypt.
      guard !section.isEmpty, section.count % 8 == 0 else { throw .unreadable }
      privateKey = .locked(LockedKey(publicKey: publicKey, file: bytes))
    }
  }

  private static func clear(
    _ section: ArraySlice<UInt8>, of key: PublicKey
  ) throws(KeyFile.Problem) -> KeyFile.PrivateKey {
    var reader = WireReader(section)
    // Two equal numbers. In an encrypted section they are random.
    guard let check = reader.uint32(), check == reader.uint32() else { throw .unreadable }
    do {
      if let key = try SigningKey(openSSH: &reader) { return .clear(key) }
    } catch {
      throw .unreadable
    }
    return .unusable(.unsupported("a key of type \(key.type)"))
  }

  /// The reason why libssh2 cannot or should not open the file.
  private static func unsupportedFeature(
    _ cipher: String, _ derivation: String, _ options: ArraySlice<UInt8>, _ key: PublicKey
  ) throws(KeyFile.Problem) -> String? {
    guard derivation == "bcrypt" else { return "a passphrase of kind \(derivation.visible)" }
    var parameters = WireReader(options)
    guard parameters.string() != nil, let rounds = parameters.uint32(), rounds > 0 else { throw .unreadable }
    guard rounds <= maximumRounds else { return "an encrypted key with \(rounds) rounds of bcrypt" }
    guard ciphers.contains(cipher) else { return "a key encrypted with \(cipher.visible)" }
    // libssh2 1.10 would sign with SHA-1.
    return key.type == "ssh-rsa" ? "an encrypted RSA key" : nil
  }
}
