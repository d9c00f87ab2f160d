import BywayPrimitives

/// A key that the settings name by a file: a private key, or only its public half if an agent holds the private one.
struct Identity: Sendable {
  let path: String
  /// `nil` if neither half can be read.
  let publicKey: PublicKey?
  /// Whether there is only a public key, which is not an error.
  let isPublicOnly: Bool
  let file: Result<KeyFile, KeyFile.Problem>

  /// Blocks.
  init(path: String) {
    self.path = path
    if let key = Self.publicKey(in: path) {
      publicKey = key
      isPublicOnly = true
      file = .failure(.unreadable)
      return
    }
    file = Result { () throws(KeyFile.Problem) in try KeyFile(path: path) }
    switch file {
    case .success(let file):
      publicKey = file.publicKey
      isPublicOnly = false
    case .failure(let problem):
      // The agent may hold a key that cannot be read here.
      publicKey = Self.publicKey(in: "\(path).pub")
      isPublicOnly = publicKey != nil && problem == .file(.missing)
    }
  }

  private static func publicKey(in path: String) -> PublicKey? {
    guard let content = try? SmallFile(path, limit: 64 << 10) else { return nil }
    let line = content.bytes.prefix { $0 != 0x0A && $0 != 0x0D }
    return PublicKey(line: String(decoding: line, as: UTF8.self))
  }
}
