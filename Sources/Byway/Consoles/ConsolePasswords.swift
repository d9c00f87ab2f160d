import BywayPrimitives
package import NIOCore
import Synchronization

/// The passwords of logins at consoles: those that users have typed, and those in the environment. Safe on any thread.
package enum ConsolePasswords {
  private static let limit = 64
  private static let typed = Mutex<[String: String]>([:])
  private static let taken = Mutex<String?>(nil)

  /// Moves the password out of the environment, where programs that this process starts would find it. Call it before other threads
  /// read the environment.
  package static func takeFromEnvironment() {
    guard let value = Environment.take(ConsoleSettings.passwordVariable) else { return }
    taken.withLock { $0 = value }
  }

  /// Keeps a password that the user has typed for a link.
  package static func remember(_ password: String, of address: LinkAddress, _ settings: ConsoleSettings) {
    typed.withLock { typed in
      if typed.count < limit { typed[key(address, settings)] = password }
    }
  }

  /// Returns `nil` if it is not known.
  package static func password(of address: LinkAddress, _ settings: ConsoleSettings) -> String? {
    if let password = typed.withLock({ $0[key(address, settings)] }) { return password }
    if settings.passwordVariable == ConsoleSettings.passwordVariable, let value = taken.withLock({ $0 }) {
      return value
    }
    return Environment[settings.passwordVariable]
  }

  // MARK: Refusals

  /// How long a refused login is not tried again: each attempt counts, and some systems lock an account after a few.
  private static let pause = TimeAmount.seconds(60)
  private static let refusals = Mutex<[String: (until: NIODeadline, failure: ConsoleFailure)]>([:])

  /// Notes that a login was refused.
  package static func noteRefusal(
    _ failure: ConsoleFailure, of address: LinkAddress, _ settings: ConsoleSettings, at now: NIODeadline
  ) {
    refusals.withLock { refusals in
      refusals = refusals.filter { $0.value.until > now }
      if refusals.count < limit { refusals[key(address, settings)] = (now + pause, failure) }
    }
  }

  /// Returns the refusal because of which the login is not tried now.
  package static func refusal(
    of address: LinkAddress, _ settings: ConsoleSettings, at now: NIODeadline
  ) -> ConsoleFailure? {
    refusals.withLock { refusals in
      guard let known = refusals[key(address, settings)], known.until > now else { return nil }
      return known.failure
    }
  }

  private static func key(_ address: LinkAddress, _ settings: ConsoleSettings) -> String {
    "\(settings.user ?? "") \(address.place)"
  }
}
