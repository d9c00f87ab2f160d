import Testing

@testable import Byway

/// Tests the messages of failed logins, and the passwords behind them.
@Suite struct ConsoleFailureTests {
  @Test(
    "each failure of a login says what to do, and whether to try again",
    arguments: [
      (.silent, "is the cable plugged in", false), (.userNeeded, "add login=USER", true),
      (.passwordNeeded, "password of operator: set BYWAY_LINK_PASSWORD", true),
      (.refused(words: "W"), "The login as operator at unix:/c was refused twice: \"W\".", true),
      (.refused(words: nil), "was refused twice. Check", true), (.endless, "prints without a pause", false),
      (.noPrompt(words: "W"), "shows no prompt: \"W\".", false), (.noShell(words: "W"), "programs: \"W\".", false),
      (.missing, "There is no program \"/opt/byway\" at unix:/c", true),
      (.unusable, "cannot run \"/opt/byway\"", true),
      (.ended(status: 3, words: "W"), "with status 3: \"W\".", false), (.mute(words: "W"), "no frames: \"W\".", false),
      (.gatewayRuns, "try again when it has ended", false), (.closed(words: "W"), "the login: \"W\".", false),
    ] as [(ConsoleFailure, String, Bool)])
  func messages(_ failure: ConsoleFailure, _ words: String, _ isLasting: Bool) throws {
    let address = try LinkAddress("unix:/c?login=operator&shell=/opt/byway gateway")
    let message = failure.message(try ConsoleRig.settings(address.text), on: address)
    #expect(message.contains(words), "\(message)")
    #expect(failure.isLasting == isLasting)
  }

  @Test(
    "no failure quotes a password, and each quotes other words",
    arguments: [
      { .refused(words: $0) }, { .noPrompt(words: $0) }, { .noShell(words: $0) }, { .ended(status: 1, words: $0) },
      { .mute(words: $0) }, { .closed(words: $0) },
    ] as [@Sendable (String?) -> ConsoleFailure])
  func secrets(_ failure: @Sendable (String?) -> ConsoleFailure) {
    #expect(failure("it is hunter2 here").hiding("hunter2") == failure(nil))
    for words in ["it is hun", "er2 here", "h u/n/ter2", "HUNTER2 hunter", "ter2"] {
      #expect(failure(words).hiding("hunter2") == failure(nil), "\(words)")
    }
    for words in ["other", "it is hu", "r2 here", "thunder"] {
      #expect(failure(words).hiding("hunter2") == failure(words), "\(words)")
    }
    #expect(failure("other").hiding(nil) == failure("other") && failure("other").hiding("") == failure("other"))
  }

  @Test("a typed password is that of its user and link, before that of the environment")
  func passwords() throws {
    func settings(_ options: String) throws -> (LinkAddress, ConsoleSettings) {
      let text = "unix:/console-of-passwords?\(options)"
      return (try LinkAddress(text), try ConsoleRig.settings(text))
    }
    let (address, first) = try settings("login=a&login-password=env:PATH")
    let (_, second) = try settings("login=b&login-password=env:BYWAY_NO_SUCH_VARIABLE")
    let path = try #require(ConsolePasswords.password(of: address, first))
    #expect(path.contains("/bin") && ConsolePasswords.password(of: address, second) == nil)
    ConsolePasswords.remember("typed", of: address, first)
    #expect(ConsolePasswords.password(of: address, first) == "typed")
    #expect(ConsolePasswords.password(of: address, second) == nil)
    let other = try LinkAddress("unix:/another-console-of-passwords?login=a&login-password=env:PATH")
    #expect(ConsolePasswords.password(of: other, first) == path)
  }

  @Test("the limits of a user's name and of a command are exact")
  func limits() throws {
    let (user, command) = (String(repeating: "u", count: 64), String(repeating: "c", count: 1000))
    for options in ["login=\(user)", "shell=\(command)", "login=a&login-password=env:X"] {
      _ = try ConsoleRig.settings("unix:/c?\(options)")
    }
    for options in [
      "login=\(user)u", "shell=\(command)c", "shell=a%7F", "login=a%7F", "shell=", "login=a&login-password=env:",
    ] {
      #expect(throws: BywayError.self, "\(options)") { try ConsoleRig.settings("unix:/c?\(options)") }
    }
  }
}
