import Byway

/// The credentials tried and the causes of failure, for the one error at the end.
package struct LoginReport: Sendable {
  /// A key that the server would have accepted.
  package struct LockedKey: Sendable {
    package let path: String
    package let problem: KeyUnlocking.Problem
  }

  private let settings: HostSettings
  /// The credentials in the order tried.
  package internal(set) var tried: [String] = []
  package internal(set) var problems: [LoginProblem] = []
  package private(set) var locked: [LockedKey] = []
  /// Whether there was no way to ask the user for the password.
  package internal(set) var lacksPassword = false

  init(_ settings: HostSettings) { self.settings = settings }

  /// Moves the key from the refused ones to the locked ones: the server has not seen its signature.
  mutating func leftLocked(_ unlocking: KeyUnlocking, _ problem: KeyUnlocking.Problem) {
    tried.removeAll { $0 == unlocking.name }
    locked.append(LockedKey(path: unlocking.path, problem: problem))
  }

  func failure(serverOffers: [String]) -> BywayError {
    let offers = serverOffers.isEmpty ? "nothing" : serverOffers.joined(separator: ", ")
    let sentences =
      locked.map { "\($0.path): \($0.problem)." } + ["\(attempts); it accepts \(offers)."]
      + problems.map(\.description) + advice(serverOffers)
    return BywayError(.linkUnavailable, sentences.joined(separator: " "), processing: .none)
  }

  private var attempts: String {
    if !tried.isEmpty {
      return "\(settings.alias) did not let \(settings.user) in with \(tried.joined(separator: ", "))"
    }
    let other = locked.isEmpty ? "" : "other "
    return "There is no \(other)key or password to log in with as \(settings.user) at \(settings.alias)"
  }

  private func advice(_ offers: [String]) -> [String] {
    var advice: [String] = []
    if offers.contains("publickey"), locked.isEmpty {
      if tried.isEmpty {
        advice.append("Name a key with identity=FILE, or add one to the ssh-agent.")
      } else if problems.isEmpty {
        advice.append("Check the user's name, and that the key is in its authorized_keys.")
      }
    }
    if lacksPassword {
      advice.append("Without a terminal, give a password with password=env:NAME.")
    }
    return advice
  }
}
