import NIOCore

/// The memory of a process about its logins at consoles: typed passwords, and the refusals of the last minute.
struct LoginMemory {
  /// A login at a console.
  struct Key: Hashable {
    private let user: String
    private let place: String

    init(_ address: LinkAddress, _ settings: ConsoleSettings) {
      user = settings.user ?? ""
      place = address.place
    }
  }

  static let limit = 64
  /// How long a refused login is not tried again: each attempt counts, and some systems lock an account after a few.
  static let pause = TimeAmount.seconds(60)

  /// The password that was in the environment.
  var taken: String?
  private var typed: [Key: String] = [:]
  private var refusals: [Key: (until: NIODeadline, failure: ConsoleFailure)] = [:]

  mutating func remember(_ password: String, of key: Key) {
    if typed.count < Self.limit { typed[key] = password }
  }

  /// - Parameter variable: the environment variable that the link names.
  func password(of key: Key, variable: String) -> String? {
    typed[key] ?? (variable == ConsoleSettings.passwordVariable ? taken : nil)
  }

  mutating func noteRefusal(_ failure: ConsoleFailure, of key: Key, at now: NIODeadline) {
    refusals = refusals.filter { $0.value.until > now }
    if refusals.count < Self.limit { refusals[key] = (now + Self.pause, failure) }
  }

  /// Returns the refusal because of which the login is not tried now.
  func refusal(of key: Key, at now: NIODeadline) -> ConsoleFailure? {
    guard let known = refusals[key], known.until > now else { return nil }
    return known.failure
  }
}
