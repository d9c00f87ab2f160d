internal import Byway

/// What was tried and what stood in the way, for the one error at the end.
struct LoginReport: Sendable {
  private let settings: HostSettings
  /// In the order tried.
  var tried: [String] = []
  /// Whole sentences.
  var notes: [String] = []
  /// Nobody could be asked for it.
  var lacksPassword = false

  init(_ settings: HostSettings) { self.settings = settings }

  func failure(serverOffers: [String]) -> BywayError {
    let offers = serverOffers.isEmpty ? "nothing" : serverOffers.joined(separator: ", ")
    let attempts =
      tried.isEmpty
      ? "There is no key or password to log in with as \(settings.user) at \(settings.alias)"
      : "\(settings.alias) did not let \(settings.user) in with \(tried.joined(separator: ", "))"
    let sentences = ["\(attempts); it accepts \(offers)."] + notes + advice(serverOffers)
    return BywayError(.linkUnavailable, sentences.joined(separator: " "), processing: .none)
  }

  private func advice(_ offers: [String]) -> [String] {
    var advice: [String] = []
    if offers.contains("publickey"), tried.isEmpty {
      advice.append("Name a key with identity=FILE, or add one to the ssh-agent.")
    } else if offers.contains("publickey"), notes.isEmpty {
      advice.append("Check the user's name, and that the key is in its authorized_keys.")
    }
    if lacksPassword {
      advice.append("Without a terminal, give a password with password=env:NAME.")
    }
    return advice
  }
}
