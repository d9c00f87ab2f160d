import Byway
import NIOCore

/// Finds the passphrase of a locked key: from an environment variable, or from the user, who has three attempts.
package struct KeyUnlocking: Sendable {
  /// The reason why the key stays locked.
  package enum Problem: Error, Hashable {
    case noPassphrase
    case wrongPassphrase
    /// The passphrase of this environment variable is wrong.
    case wrongVariable(String)
  }

  private static let maximumQuestions = 3

  let key: LockedKey
  let name: String
  let path: String
  /// The number of wrong passphrases.
  var attempts = 0

  /// - Throws: if the user does not answer, or the variable is not set.
  func next(
    _ settings: HostSettings, _ sources: LoginSources, until deadline: NIODeadline
  ) async throws(BywayError) -> Result<Secret, Problem> {
    if let source = settings.passphrase {
      guard attempts == 0 else { return .failure(.wrongVariable(source.variable)) }
      return .success(try sources.secret(source, for: "passphrase"))
    }
    if attempts == 0, let passphrase = sources.memory[path] { return .success(passphrase) }
    // The passphrase was wrong, or has been changed.
    sources.memory[path] = nil
    guard attempts < Self.maximumQuestions else { return .failure(.wrongPassphrase) }
    let passphrase = try await sources.prompter.ask("Passphrase for \(path): ", echo: false, until: deadline)
    guard let passphrase, passphrase.count > 0 else { return .failure(.noPassphrase) }
    sources.memory[path] = passphrase
    return .success(passphrase)
  }
}

extension KeyUnlocking.Problem: CustomStringConvertible {
  /// A clause that follows a path and a colon.
  package var description: String {
    switch self {
    case .noPassphrase: "it is encrypted: add it to the ssh-agent (ssh-add FILE), or give passphrase=env:NAME"
    case .wrongPassphrase: "the passphrase is wrong"
    case .wrongVariable(let name): "the passphrase in the environment variable \(name) is wrong"
    }
  }
}
