import Primitives

/// A key that the settings name by a file: the private key, or only its public half, whose other half an agent holds.
struct Identity: Sendable {
  let path: String
  /// `nil` where neither half can be read.
  let publicKey: PublicKey?
  /// Whether there is no private key to read, and nothing wrong with that.
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
      // The agent may hold what cannot be read here.
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
