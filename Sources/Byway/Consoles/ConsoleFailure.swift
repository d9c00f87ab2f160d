/// The reason why no gateway was reached through a console.
package enum ConsoleFailure: Error, Equatable, LinkEvidence {
  /// Silence, without even an echo.
  case silent
  /// A login is asked for, and the address names no user.
  case userNeeded
  /// The password is asked for, and is not known.
  case passwordNeeded
  /// The login was refused twice.
  case refused(words: String?)
  /// The console does not stop to print.
  case endless
  /// No prompt came.
  case noPrompt(words: String?)
  /// A program answers that is no shell.
  case noShell(words: String?)
  /// The shell has no such command.
  case missing
  /// The machine cannot run the command.
  case unusable
  /// The command has ended instead of serving.
  case ended(status: Int, words: String?)
  /// The command runs, and no frame of it arrives.
  case mute(words: String?)
  /// A gateway runs on this console, where a shell is needed.
  case gatewayRuns
  /// The stream has ended.
  case closed(words: String?)

  /// Whether another attempt would fail in the same way. A wrong password must not be tried again and again.
  package var isLasting: Bool {
    switch self {
    case .userNeeded, .passwordNeeded, .refused, .missing, .unusable: true
    default: false
    }
  }
}

extension ConsoleFailure {
  /// Returns the sentences for users.
  func message(_ settings: ConsoleSettings, on address: LinkAddress) -> String {
    let who = settings.user.map { " as \($0)" } ?? ""
    func quote(_ words: String?) -> String { words.map { ": \"\($0)\"" } ?? "" }
    let place = address.publicName
    return switch self {
    case .silent:
      "The console at \(place) says nothing: is the cable plugged in, with the right baud rate, and does a login or a shell run at its far end?"
    case .userNeeded: "The console at \(place) asks for a login: add login=USER to the link."
    case .passwordNeeded:
      "The console at \(place) asks for the password of \(settings.user ?? "the user"): set \(settings.passwordVariable)."
    case .refused(let words):
      "The login\(who) at \(place) was refused twice\(quote(words)). Check the user, the password and whether this user may log in there."
    case .endless: "The console at \(place) prints without a pause: stop the program that writes there."
    case .noPrompt(let words):
      "The console at \(place) shows no prompt\(quote(words)). Log in there once by hand, to see what it needs."
    case .noShell(let words):
      "What answers at \(place) is not a shell that can start programs\(quote(words)). Give the user sh as the login shell."
    case .missing:
      "There is no program \"\(settings.program)\" at \(place): \(Advice.copyProgram("it")), or give its path with shell=COMMAND."
    case .unusable:
      "The machine at \(place) cannot run \"\(settings.program)\": \(Advice.copyProgram("the one for its processor"))."
    case .ended(let status, let words):
      "The gateway that was started at \(place) has ended with status \(status)\(quote(words)). Correct shell=COMMAND."
    case .mute(let words):
      "The command that was started at \(place) sends no frames\(quote(words)). It must be a gateway."
    case .gatewayRuns:
      "A gateway runs on \(place), and no shell: try again when it has ended, a minute after its last use."
    case .closed(let words):
      "The console at \(place) was closed during the login\(quote(words)). Open it by hand to see why."
    }
  }

  /// Returns the failure without its quotation if that contains a secret, in one line or two, or three characters of it at an end.
  func hiding(_ secret: String?) -> ConsoleFailure {
    func letters(_ text: String) -> Substring { text.visible.filter { $0 != " " && $0 != "/" }[...] }
    guard let secret = secret.map(letters), !secret.isEmpty else { return self }
    func shows(_ words: String) -> Bool {
      let words = letters(words)
      return words.contains(secret)
        || (3..<max(3, secret.count)).contains {
          words.hasPrefix(secret.suffix($0)) || words.hasSuffix(secret.prefix($0))
        }
    }
    func plain(_ words: String?) -> String? { words.flatMap { shows($0) ? nil : $0 } }
    return switch self {
    case .refused(let words): .refused(words: plain(words))
    case .noPrompt(let words): .noPrompt(words: plain(words))
    case .noShell(let words): .noShell(words: plain(words))
    case .ended(let status, let words): .ended(status: status, words: plain(words))
    case .mute(let words): .mute(words: plain(words))
    case .closed(let words): .closed(words: plain(words))
    case .silent, .userNeeded, .passwordNeeded, .endless, .missing, .unusable, .gatewayRuns: self
    }
  }
}
