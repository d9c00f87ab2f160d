internal import Byway
internal import NIOCore

/// Gets a key out of its file: with the passphrase from a variable, or from a person, who has three guesses.
struct KeyUnlocking: Sendable {
  private static let maximumQuestions = 3

  let file: KeyFile
  let settings: HostSettings
  let sources: LoginSources

  func unlock(until deadline: NIODeadline) async throws(BywayError) -> SigningKey {
    guard file.isEncrypted else { return try await attempt(nil).get(file) }
    if let source = settings.passphrase {
      return try await attempt(try sources.secret(source, for: "passphrase")).get(file)
    }
    if let passphrase = sources.memory[file.path] {
      if case .success(let key) = try await attempt(passphrase) { return key }
      // Somebody has changed it.
      sources.memory[file.path] = nil
    }
    for _ in 0..<Self.maximumQuestions {
      let question = "Passphrase for \(file.path): "
      let passphrase = try await sources.prompter.ask(question, echo: false, until: deadline)
      guard let passphrase, passphrase.count > 0 else { return try KeyUnlocking.fail(file, .noPassphrase) }
      let result = try await attempt(passphrase)
      if case .failure(.wrongPassphrase) = result { continue }
      sources.memory[file.path] = passphrase
      return try result.get(file)
    }
    return try KeyUnlocking.fail(file, .wrongPassphrase)
  }

  private func attempt(_ passphrase: Secret?) async throws(BywayError) -> Result<SigningKey, KeyFile.Problem> {
    try await Blocking.run { [file] in
      Result { () throws(KeyFile.Problem) in try file.unlock(passphrase) }
    }
  }

  fileprivate static func fail(_ file: KeyFile, _ problem: KeyFile.Problem) throws(BywayError) -> SigningKey {
    throw BywayError(.linkUnavailable, "\(file.path): \(problem).", processing: .none, cause: problem)
  }
}

extension Result<SigningKey, KeyFile.Problem> {
  fileprivate func get(_ file: KeyFile) throws(BywayError) -> SigningKey {
    switch self {
    case .success(let key): key
    case .failure(let problem): try KeyUnlocking.fail(file, problem)
    }
  }
}
