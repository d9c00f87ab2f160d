import Byway
import NIOCore

/// Finds the passphrase of a locked key: the one in a variable, or a person's, who has three guesses.
package struct KeyUnlocking: Sendable {
  /// Why the key stays locked.
  package enum Problem: Error, Hashable {
    case noPassphrase
    case wrongPassphrase
    /// That of an environment variable.
    case wrongVariable(String)
  }

  private static let maximumQuestions = 3

  let key: LockedKey
  let name: String
  let path: String
  /// Passphrases that were wrong.
  var attempts = 0

  /// - Throws: where nobody answers, or the variable is not set.
  func next(
    _ settings: HostSettings, _ sources: LoginSources, until deadline: NIODeadline
  ) async throws(BywayError) -> Result<Secret, Problem> {
    if let source = settings.passphrase {
      guard attempts == 0 else { return .failure(.wrongVariable(source.variable)) }
      return .success(try sources.secret(source, for: "passphrase"))
    }
    if attempts == 0, let passphrase = sources.memory[path] { return .success(passphrase) }
    // Wrong, or somebody has changed it.
    sources.memory[path] = nil
    guard attempts < Self.maximumQuestions else { return .failure(.wrongPassphrase) }
    let passphrase = try await sources.prompter.ask("Passphrase for \(path): ", echo: false, until: deadline)
    guard let passphrase, passphrase.count > 0 else { return .failure(.noPassphrase) }
    sources.memory[path] = passphrase
    return .success(passphrase)
  }
}

extension KeyUnlocking.Problem: CustomStringConvertible {
  /// Follows a path and a colon.
  package var description: String {
    switch self {
    case .noPassphrase: "it is encrypted: add it to the ssh-agent (ssh-add FILE), or give passphrase=env:NAME"
    case .wrongPassphrase: "the passphrase is wrong"
    case .wrongVariable(let name): "the passphrase in the environment variable \(name) is wrong"
    }
  }
}
