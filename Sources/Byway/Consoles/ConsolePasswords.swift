import BywayPrimitives
package import NIOCore
import Synchronization

/// The passwords of logins at consoles, and the logins that were refused. Safe on any thread.
package enum ConsolePasswords {
  private static let memory = Mutex(LoginMemory())

  /// Moves the password out of the environment, where programs that this process starts would find it. Call it before other threads
  /// read the environment.
  package static func takeFromEnvironment() {
    guard let value = Environment.take(ConsoleSettings.passwordVariable) else { return }
    memory.withLock { $0.taken = value }
  }

  /// Keeps a password that the user has typed for a link.
  package static func remember(_ password: String, of address: LinkAddress, _ settings: ConsoleSettings) {
    memory.withLock { $0.remember(password, of: LoginMemory.Key(address, settings)) }
  }

  /// Returns `nil` if it is not known.
  package static func password(of address: LinkAddress, _ settings: ConsoleSettings) -> String? {
    let variable = settings.passwordVariable
    return memory.withLock { $0.password(of: LoginMemory.Key(address, settings), variable: variable) }
      ?? Environment[variable]
  }

  /// Notes that a login was refused.
  package static func noteRefusal(
    _ failure: ConsoleFailure, of address: LinkAddress, _ settings: ConsoleSettings, at now: NIODeadline
  ) {
    memory.withLock { $0.noteRefusal(failure, of: LoginMemory.Key(address, settings), at: now) }
  }

  /// Returns the refusal because of which the login is not tried now.
  package static func refusal(
    of address: LinkAddress, _ settings: ConsoleSettings, at now: NIODeadline
  ) -> ConsoleFailure? {
    memory.withLock { $0.refusal(of: LoginMemory.Key(address, settings), at: now) }
  }
}
