import BywayLineLayer
import Testing

@testable import Byway

/// The times and the numbers of attempts of a login, in virtual time.
@Suite struct ConsoleTimesTests {
  @Test("a prompt is answered once the console has been silent for 300 ms")
  func quiet() throws {
    let rig = try ConsoleRig()
    _ = rig.said()
    rig.hear("\r\nbox login: ")
    rig.pass(milliseconds: 299)
    #expect(rig.said() == "")
    rig.pass(milliseconds: 1)
    #expect(rig.said() == "operator\r")
  }

  @Test("a silent console is asked for a gateway after 0.6 s, and woken again a second later")
  func silent() throws {
    let rig = try ConsoleRig()
    #expect(rig.said() == "\u{15}\r")
    rig.pass(milliseconds: 599)
    #expect(rig.said() == "")
    rig.pass(milliseconds: 1)
    #expect(rig.said().utf8.first == 0)
    rig.pass(milliseconds: 999)
    #expect(rig.said() == "")
    rig.pass(milliseconds: 1)
    #expect(rig.said() == "\u{15}\r")
  }

  @Test("a silent console without a user is tested for a shell after the question")
  func silentWithoutUser() throws {
    let rig = try ConsoleRig("unix:/console?shell=byway gateway")
    #expect(rig.said() == "\u{15}\n")
    rig.pass(milliseconds: 1600)
    #expect(rig.said().contains(#"BY""WAY-S-"#))
  }

  @Test("a login that shows no answer to the name, or to the password, is woken again after its time")
  func noAnswer() throws {
    let rig = try ConsoleRig()
    rig.show("\r\nbox login: ")
    _ = rig.said()
    rig.pass(milliseconds: 7_600)
    #expect(rig.said() == "")
    rig.pass(milliseconds: 500)
    #expect(rig.said() == "\u{15}\r")
    rig.show("\r\nbox login: ")
    rig.show("operator\r\nPassword: ")
    #expect(rig.said() == "operator\r" && rig.passwords == 1)
    rig.pass(milliseconds: 14_900)
    #expect(rig.said() == "")
    rig.pass(milliseconds: 200)
    #expect(rig.said() == "\u{15}\r")
  }

  @Test("a question of another login is ended, and its password is not sent")
  func foreignQuestion() throws {
    let rig = try ConsoleRig()
    _ = rig.said()
    rig.show("\r\nPassword: ")
    #expect(rig.said() == "\u{15}\r" && rig.passwords == 0)
  }

  @Test("a name is sent six times at most")
  func names() throws {
    let rig = try ConsoleRig()
    _ = rig.said()
    for number in 1...6 {
      rig.show("\r\nbox login: ")
      #expect(rig.said() == "operator\r", "\(number)")
    }
    rig.show("\r\nUnknown user\r\nbox login: ")
    #expect(rig.failure == .refused(words: "Unknown user / box login: ") && rig.said() == "")
  }

  @Test("a shell is tested three times, three seconds each")
  func tests() throws {
    let rig = try ConsoleRig("exec:sh?shell=byway gateway")
    for _ in 1...3 {
      #expect(rig.said().contains("-S-"))
      rig.pass(milliseconds: 2_999)
      #expect(rig.ending == nil)
      rig.pass(milliseconds: 1)
    }
    #expect(rig.failure == .noShell(words: nil) && rig.said() == "")
  }

  @Test("a started gateway is asked thirty times, once a second")
  func questions() throws {
    let rig = try ConsoleRig("exec:sh?shell=byway gateway")
    rig.startGateway()
    _ = rig.said()
    rig.pass(milliseconds: 999)
    #expect(rig.said() == "")
    for number in 1...30 {
      rig.pass(milliseconds: number == 1 ? 1 : 1000)
      #expect(rig.said().utf8.first == 0, "\(number)")
    }
    #expect(rig.ending == nil)
    rig.pass(milliseconds: 1000)
    #expect(rig.failure == .mute(words: nil) && rig.said() == "")
  }

  @Test("a shell that does not start the command is reported after eight seconds")
  func starting() throws {
    let rig = try ConsoleRig("exec:sh?shell=byway gateway")
    rig.hear(ConsoleRig.mark("S"))
    rig.hear("sh: syntax error\r\n")
    rig.pass(milliseconds: 7_999)
    #expect(rig.ending == nil)
    rig.pass(milliseconds: 1)
    #expect(rig.failure == .noShell(words: "sh: syntax error"))
  }

  @Test("at the deadline, the error tells what was missing")
  func deadline() throws {
    let talking = try ConsoleRig(limit: 4)
    talking.show("\r\nU-Boot 2024.01\r\n")
    talking.pass(milliseconds: 4000)
    #expect(talking.failure == .noPrompt(words: "U-Boot 2024.01"))
    let testing = try ConsoleRig("exec:sh?shell=byway gateway", limit: 2)
    testing.hear("hello\r\n")
    testing.pass(milliseconds: 2000)
    #expect(testing.failure == .noShell(words: "hello"))
    let listening = try ConsoleRig("exec:sh?shell=byway gateway", limit: 2)
    listening.startGateway()
    listening.hear("banner\r\n")
    listening.pass(milliseconds: 2000)
    #expect(listening.failure == .mute(words: "banner"))
    let endless = try ConsoleRig(limit: 2)
    endless.pass(milliseconds: 1_800)
    endless.hear("x")
    endless.pass(milliseconds: 200)
    #expect(endless.failure == .endless)
  }

  @Test("earlier text in the line is deleted before a command is typed at a terminal, and not at a pipe")
  func clearing() throws {
    let terminal = try ConsoleRig()
    terminal.show("\r\n$ ")
    #expect(terminal.said() == "\u{15}\r\u{15}\r echo \"BY\"\"WAY-S-5eed0001-\"\r")
    let pipe = try ConsoleRig("exec:sh?shell=byway gateway")
    #expect(pipe.said() == "\n echo \"BY\"\"WAY-S-5eed0001-\"\n")
  }

  @Test("nothing is sent and nothing changes after the end of a login")
  func over() throws {
    let rig = try ConsoleRig()
    rig.login.fail(.passwordNeeded)
    rig.login.fail(.silent)
    rig.hear("\r\nbox login: ")
    rig.pass(milliseconds: 60_000)
    #expect(rig.failure == nil || rig.failure == .passwordNeeded)
    #expect(rig.login.nextDeadline == nil && rig.said() == "\u{15}\r")
  }

  @Test("the gateway of a line without a rate is not paced, and gives the line back after a minute")
  func commandLine() throws {
    var settings = try ConsoleRig.settings("unix:/console?login=operator")
    #expect(
      GatewayCommandLine.serving(settings)
        == "byway gateway --origin http://127.0.0.1:80 --link 'stdio:?line=115200&linger=60'")
    settings.baud = nil
    #expect(GatewayCommandLine.serving(settings).hasSuffix("--link 'stdio:?line=100000000&linger=60'"))
  }
}
