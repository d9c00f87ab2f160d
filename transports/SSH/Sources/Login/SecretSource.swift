import Byway

/// The source of a password or passphrase that is not typed: an environment variable.
struct SecretSource: Sendable, Hashable {
  let variable: String

  /// - Parameter text: `env:NAME`. An address never contains the secret itself, because addresses are logged.
  init(_ text: String, option: String) throws(BywayError) {
    guard text.hasPrefix("env:"), text.count > 4 else {
      throw BywayError(
        .invalidAddress,
        "\(option)= takes env:NAME, the environment variable that holds it, not the \(option) itself.")
    }
    variable = String(text.dropFirst(4))
  }
}
