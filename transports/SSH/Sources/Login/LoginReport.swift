import Byway

/// What was tried and what stood in the way, for the one error at the end.
struct LoginReport: Sendable {
  private let settings: HostSettings
  /// In the order tried.
  var tried: [String] = []
  /// Whole sentences.
  var notes: [String] = []
  /// Whole sentences about keys that the server would have taken.
  private var locked: [String] = []
  /// Nobody could be asked for it.
  var lacksPassword = false

  init(_ settings: HostSettings) { self.settings = settings }

  /// The server has not refused the key: it has not seen its signature.
  mutating func leftLocked(_ unlocking: KeyUnlocking, _ problem: KeyUnlocking.Problem) {
    tried.removeAll { $0 == unlocking.name }
    locked.append("\(unlocking.path): \(problem).")
  }

  func failure(serverOffers: [String]) -> BywayError {
    let offers = serverOffers.isEmpty ? "nothing" : serverOffers.joined(separator: ", ")
    let sentences = locked + ["\(attempts); it accepts \(offers)."] + notes + advice(serverOffers)
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
      } else if notes.isEmpty {
        advice.append("Check the user's name, and that the key is in its authorized_keys.")
      }
    }
    if lacksPassword {
      advice.append("Without a terminal, give a password with password=env:NAME.")
    }
    return advice
  }
}
