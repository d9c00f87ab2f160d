import Byway

/// Where a password or a passphrase comes from, without a person.
struct SecretSource: Sendable, Hashable {
  let variable: String

  /// - Parameter text: `env:NAME`. The secret itself is not part of an address: those are logged.
  init(_ text: String, option: String) throws(BywayError) {
    guard text.hasPrefix("env:"), text.count > 4 else {
      throw BywayError(
        .invalidAddress,
        "\(option)= takes env:NAME, the environment variable that holds it, not the \(option) itself.")
    }
    variable = String(text.dropFirst(4))
  }
}
