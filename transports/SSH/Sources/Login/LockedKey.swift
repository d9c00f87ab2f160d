import BywayPrimitives

/// A key that its passphrase unlocks. libssh2 unlocks it and signs with it in one call.
struct LockedKey: Sendable {
  let publicKey: PublicKey
  /// The file, split into lines as libssh2 expects.
  let text: String

  init(publicKey: PublicKey, file: [UInt8]) {
    self.publicKey = publicKey
    let digits = Base64.encode(file)
    var lines = "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    var rest = digits[...]
    while !rest.isEmpty {
      lines += "\(rest.prefix(70))\n"
      rest = rest.dropFirst(70)
    }
    text = "\(lines)-----END OPENSSH PRIVATE KEY-----\n"
  }

  /// The public key as in a `.pub` file.
  var publicLine: String { "\(publicKey.type) \(Base64.encode(publicKey.blob))" }
}
