import BywayLineLayer
import Testing

@testable import Byway

/// The login at a console in virtual time.
@Suite struct ConsoleLoginTests {
  @Test("a login at a getty starts the gateway, and ends with its first frame")
  func login() throws {
    let rig = try ConsoleRig()
    #expect(rig.said() == "\u{15}\r")
    rig.show("\r\nDebian GNU/Linux 12 box ttyS0\r\n\r\nbox login: ")
    #expect(rig.said() == "operator\r")
    rig.show("operator\r\nPassword: ")
    #expect(rig.passwords == 1)
    rig.show("\r\nLinux box 6.1.0\r\n\u{1B}[01;32moperator@box\u{1B}[00m:~$ ")
    #expect(rig.said().contains(#"echo "BY""WAY-S-5eed0001-""#))
    rig.hear(" echo \"BY\"\"WAY-S-5eed0001-\"\r\n" + ConsoleRig.mark("S"))
    let command = rig.said()
    #expect(command.hasPrefix(" exec sh -c 'stty raw -echo"))
    #expect(command.contains("byway gateway --origin http://127.0.0.1:80 --link"))
    #expect(command.contains("stdio:?line=115200&linger=60"))
    rig.hear(command + ConsoleRig.mark("B"))
    #expect(rig.ending == nil)
    rig.hear(ConsoleRig.hello)
    #expect(rig.isReady)
    #expect(rig.login.nextDeadline == nil)
  }

  @Test("the login is the same if each byte arrives alone")
  func bytes() throws {
    let rig = try ConsoleRig()
    for byte in Array("\r\nbox login: ".utf8) { rig.hear([byte]) }
    rig.pass(milliseconds: 301)
    for byte in Array("operator\r\nPassword: ".utf8) { rig.hear([byte]) }
    rig.pass(milliseconds: 301)
    #expect(rig.passwords == 1)
    for byte in Array("\r\n# ".utf8) { rig.hear([byte]) }
    rig.pass(milliseconds: 301)
    for byte in Array((ConsoleRig.mark("S") + ConsoleRig.mark("B")).utf8) + ConsoleRig.hello { rig.hear([byte]) }
    #expect(rig.isReady)
  }

  @Test("a prompt within a message of the day is not answered")
  func promptInMessage() throws {
    let rig = try ConsoleRig()
    _ = rig.said()
    rig.hear("Type your name at login: ")
    rig.pass(milliseconds: 200)
    rig.hear("and your password at Password: \r\n")
    rig.pass(milliseconds: 200)
    #expect(rig.said() == "")
    rig.show("box login: ")
    #expect(rig.said() == "operator\r")
  }

  @Test("a prompt in pieces, 0 bytes and bytes that are not UTF-8 do not disturb a login")
  func pieces() throws {
    let rig = try ConsoleRig()
    _ = rig.said()
    rig.hear([0, 0xFF, 0xFE, 0xC3])
    rig.hear("\r\n\u{1B}[1mbox\u{1B}[0m log")
    rig.pass(milliseconds: 250)
    #expect(rig.said() == "")
    rig.show("in: ")
    #expect(rig.said() == "operator\r")
    rig.hear([0x80, 0])
    rig.show("\r\nMot de passe : ")
    #expect(rig.passwords == 1)
  }

  @Test("a kernel message behind a prompt has the console woken again")
  func kernelMessage() throws {
    let rig = try ConsoleRig()
    _ = rig.said()
    rig.show("box login: [   12.345] usb 1-1: new device\r\n")
    #expect(rig.said() == "\u{15}\r")
    rig.show("\r\nbox login: ")
    #expect(rig.said() == "operator\r")
  }

  @Test("a shell that discards the command before its prompt is asked again, and one that echoes it is not")
  func discarded() throws {
    let rig = try ConsoleRig()
    rig.show("\r\n# ")
    _ = rig.said()
    rig.hear(ConsoleRig.mark("S") + "# ")
    #expect(rig.said().contains("exec sh -c"))
    rig.pass(milliseconds: 8001)
    #expect(rig.ending == nil)
    #expect(rig.said().contains(#"echo "BY""WAY-S-"#))
    rig.hear(ConsoleRig.mark("S"))
    rig.hear("# exec sh -c\r\nsh: not found\r\n# ")
    rig.pass(milliseconds: 8001)
    #expect(rig.ending != nil)
  }

  @Test("a shell that shows its prompt alone, in its own time, has discarded the command")
  func latePrompt() throws {
    let rig = try ConsoleRig()
    rig.show("\r\n# ")
    rig.hear(ConsoleRig.mark("S"))
    #expect(rig.said().contains("exec sh -c"))
    rig.show("\r\n# ")
    rig.pass(milliseconds: 8000)
    #expect(rig.ending == nil && rig.said().contains(#"echo "BY""WAY-S-"#))
  }

  @Test("a shell that is logged in already gets no name")
  func loggedIn() throws {
    let rig = try ConsoleRig()
    _ = rig.said()
    rig.show("\r\nroot@box:~# ")
    #expect(rig.said().contains("BY"))
    rig.startGateway()
    rig.hear(ConsoleRig.hello)
    #expect(rig.isReady)
    #expect(rig.passwords == 0)
  }

  @Test("a prompt of an unknown form is tried once it has come twice")
  func unknownPrompt() throws {
    let rig = try ConsoleRig()
    _ = rig.said()
    rig.show("\r\n➜  ~ ")
    #expect(rig.said() == "\u{15}\r")
    rig.show("\r\n➜  ~ ")
    #expect(rig.said().contains("BY"))
  }

  @Test("a password that is refused twice is not sent a third time")
  func refused() throws {
    let rig = try ConsoleRig()
    rig.show("\r\nbox login: ")
    for _ in 0..<2 {
      rig.show("operator\r\nPassword: ")
      rig.pass(milliseconds: 3000)
      rig.show("\r\nLogin incorrect\r\nbox login: ")
    }
    #expect(rig.passwords == 2)
    guard case .refused(let words) = rig.failure else {
      Issue.record("\(String(describing: rig.ending))")
      return
    }
    #expect(words?.contains("Login incorrect") == true)
    #expect(rig.failure?.isLasting == true)
  }

  @Test("a password that was refused twice is not sent again after a login that showed no prompt for long")
  func refusedSlowly() throws {
    let rig = try ConsoleRig()
    rig.show("\r\nbox login: ")
    for _ in 0..<2 {
      rig.show("operator\r\nPassword: ")
      rig.show("\r\nLogin incorrect\r\n")
      rig.pass(milliseconds: 15_000)
      rig.show("\r\nbox login: ")
    }
    rig.show("operator\r\nPassword: ")
    #expect(rig.passwords == 2)
    #expect(rig.failure == .refused(words: "operator / Password: "))
  }

  @Test("a question for a new password ends the login")
  func expired() throws {
    let rig = try ConsoleRig()
    rig.show("\r\nbox login: ")
    rig.show("operator\r\nPassword: ")
    rig.show("\r\nYour password has expired.\r\nNew password: ")
    #expect(rig.failure == .refused(words: "Your password has expired. / New password: "))
  }

  @Test("a running gateway is recognized by its frames, and nothing is typed at it")
  func runningGateway() throws {
    let rig = try ConsoleRig()
    #expect(rig.said() == "\u{15}\r")
    rig.pass(milliseconds: 700)
    let question = rig.said()
    #expect(question.utf8.count < 40 && question.utf8.first == 0)
    rig.hear(ConsoleRig.hello)
    #expect(rig.isReady)
    #expect(rig.said() == "")
  }

  @Test("bytes that arrive together with the start of the gateway count")
  func onePiece() throws {
    let failed = try ConsoleRig()
    failed.logIn()
    failed.hear(ConsoleRig.mark("S"))
    failed.hear(ConsoleRig.mark("B") + "sh: byway: not found\r\n" + ConsoleRig.mark("E", "127-"))
    #expect(failed.failure == .missing)
    let served = try ConsoleRig()
    served.logIn()
    served.hear(ConsoleRig.mark("S"))
    served.hear(Array(ConsoleRig.mark("B").utf8) + ConsoleRig.hello)
    #expect(served.isReady)
  }

  @Test("a running gateway is an error where a shell is needed")
  func gatewayForCommands() throws {
    let rig = try ConsoleRig(goal: .commands)
    rig.pass(milliseconds: 700)
    rig.hear(ConsoleRig.hello)
    #expect(rig.failure == .gatewayRuns)
  }

  @Test("the echo of the question is no gateway")
  func echo() throws {
    let rig = try ConsoleRig()
    _ = rig.said()
    rig.pass(milliseconds: 700)
    rig.hear(GatewayQuestion(seed: ConsoleRig.seed).bytes)
    #expect(!rig.isReady)
  }

  @Test("the question for a gateway has no character that stops a terminal or a program")
  func harmlessQuestion() {
    for seed in (0..<2000).map({ UInt32($0) &* 2_654_435_761 }) {
      let bytes = GatewayQuestion(seed: seed).bytes
      #expect(!bytes.contains { [0x03, 0x04, 0x11, 0x13, 0x16, 0x1A, 0x1C].contains($0) }, "\(seed)")
    }
  }

  @Test("a console that asks for a login is an error without a user")
  func userNeeded() throws {
    let rig = try ConsoleRig("unix:/console?shell=byway gateway")
    rig.show("\r\nbox login: ")
    #expect(rig.failure == .userNeeded)
  }

  @Test("a shell on a pipe gets a test at once, and keeps running after the gateway")
  func pipe() throws {
    let rig = try ConsoleRig("exec:docker exec -i c sh?shell=/tmp/byway gateway")
    #expect(rig.said() == "\n echo \"BY\"\"WAY-S-5eed0001-\"\n")
    rig.hear(ConsoleRig.mark("S"))
    let command = rig.said()
    #expect(command.hasPrefix(" sh -c 'stty raw"))
    #expect(command.contains("/tmp/byway gateway --link"))
  }

  @Test("a command with a link of its own is run as it is")
  func ownLink() throws {
    let rig = try ConsoleRig("exec:sh?shell=byway-mini --link serial:$(tty) --to tcp://127.0.0.1:80")
    rig.hear(ConsoleRig.mark("S"))
    #expect(rig.said().contains("; byway-mini --link serial:$(tty) --to tcp://127.0.0.1:80; s=$?"))
  }

  @Test(
    "the end of the command is reported with its reason",
    arguments: [
      (127, ConsoleFailure.missing), (126, .unusable),
      (64, .ended(status: 64, words: "byway: A gateway needs an origin.")),
    ])
  func ended(_ status: Int, _ failure: ConsoleFailure) throws {
    let rig = try ConsoleRig()
    rig.logIn()
    rig.startGateway()
    rig.hear("byway: A gateway needs an origin.\r\n")
    // The number arrives in two parts.
    let mark = ConsoleRig.mark("E", "\(status)-")
    rig.hear(String(mark.dropLast(3)))
    #expect(rig.ending == nil)
    rig.hear(String(mark.suffix(3)))
    #expect(rig.failure == failure)
  }

  @Test("a gateway whose first frame was lost is asked")
  func lostHello() throws {
    let rig = try ConsoleRig()
    rig.logIn()
    rig.startGateway()
    _ = rig.said()
    rig.hear(Array(ConsoleRig.hello.dropLast(4)) + [0])
    rig.pass(milliseconds: 1100)
    #expect(rig.said().utf8.first == 0)
    rig.hear(ConsoleRig.hello)
    #expect(rig.isReady)
  }

  @Test("a program that sends no frames is reported")
  func mute() throws {
    let rig = try ConsoleRig()
    rig.logIn()
    rig.startGateway()
    rig.hear("listening\r\n")
    rig.pass(milliseconds: 32_000)
    #expect(rig.failure == .mute(words: "listening"))
  }

  @Test("a silent console fails at the deadline")
  func silent() throws {
    let rig = try ConsoleRig()
    rig.pass(milliseconds: 44_000)
    #expect(rig.ending == nil)
    rig.pass(milliseconds: 1_001)
    #expect(rig.failure == .silent)
  }

  @Test("output without end fails at the deadline, in bounded memory")
  func endless() throws {
    let rig = try ConsoleRig()
    for line in 0..<460 where rig.ending == nil {
      rig.hear("line \(line) of a message of the day that never ends: login: \r\n")
      rig.hear([UInt8](repeating: UInt8(ascii: "x"), count: 9000))
      rig.pass(milliseconds: 100)
    }
    #expect(rig.failure == .endless)
  }

  @Test("a program that is no shell is quoted")
  func noShell() throws {
    let rig = try ConsoleRig()
    for _ in 0..<20 where rig.ending == nil { rig.show("\r\nrouter> ") }
    for _ in 0..<5 where rig.ending == nil {
      rig.hear("\r\n% Unknown command\r\nrouter> ")
      rig.pass(milliseconds: 4000)
    }
    #expect(rig.failure == .noShell(words: "% Unknown command / router> "))
  }

  @Test("a slow machine has seconds for each answer")
  func slow() throws {
    let rig = try ConsoleRig()
    rig.show("\r\nbox login: ")
    _ = rig.said()
    rig.show("operator\r\n")
    rig.pass(milliseconds: 6000)
    #expect(rig.said() == "")
    rig.show("Password: ")
    #expect(rig.passwords == 1)
    rig.pass(milliseconds: 12_000)
    #expect(rig.said() == "")
    rig.show("$ ")
    #expect(rig.said().contains("BY"))
  }

  @Test("a mark is found before and behind more output than is kept", arguments: [false, true])
  func markInMuchOutput(_ isFirst: Bool) throws {
    let rig = try ConsoleRig()
    rig.logIn()
    let (output, mark) = ([UInt8](repeating: UInt8(ascii: "x"), count: 10_000), Array(ConsoleRig.mark("S").utf8))
    rig.hear(isFirst ? mark + output : output + mark)
    #expect(rig.said().contains("exec sh -c"))
  }

  @Test("sequences that control a terminal are not part of a prompt, and long output is not kept")
  func text() {
    var text = ConsoleText()
    text.add(Array("\u{1B}]0;title\u{07}\u{1B}[1;32mbox login:\u{1B}[0m \u{1B}[?2004h".utf8))
    #expect(text.lastLine == "box login:")
    #expect(text.prompt == .login)
    text.add([UInt8](repeating: UInt8(ascii: "x"), count: 100_000))
    #expect(text.bytes.count == ConsoleText.limit)
    #expect(text.prompt == .other)
  }

  @Test("a stream that ends during the login is reported with its last words")
  func closed() throws {
    let rig = try ConsoleRig()
    rig.hear("ssh: connection refused\r\n")
    rig.login.closed()
    rig.pass(milliseconds: 1)
    #expect(rig.login.nextAction() == .failed(.closed(words: "ssh: connection refused")))
  }

  @Test("for commands the login ends at the shell, with the bytes behind the mark")
  func commands() throws {
    let rig = try ConsoleRig("exec:sh?shell=sh", goal: .commands)
    rig.hear(ConsoleRig.mark("S"))
    let command = rig.said()
    #expect(command.contains("while IFS= read -r l; do "))
    // The shell of an interrupted copy ends by itself.
    #expect(command.contains("stty raw -echo 2>/dev/null; stty icrnl min 0 time 255 2>/dev/null; echo"))
    rig.hear(ConsoleRig.mark("B") + "more")
    #expect(rig.ending == .ready(Array("more".utf8)))
  }

  @Test("a message does not quote a password that the console has echoed")
  func echoedPassword() throws {
    let settings = try ConsoleRig.settings("unix:/console?login=operator")
    let address = try LinkAddress("unix:/console?login=operator")
    let failure = ConsoleFailure.refused(words: "Password: hunter2 / Login incorrect")
    #expect(failure.message(settings, on: address).contains("hunter2"))
    #expect(!failure.hiding("hunter2").message(settings, on: address).contains("hunter2"))
  }

  @Test(
    "a message quotes no part of a password that the console has echoed in two lines, or that a quotation begins or ends with",
    arguments: ["$ hunt / er2", "ter2 / Login incorrect", "box login: hunt", "hu nter2"])
  func partOfPassword(_ words: String) {
    #expect(ConsoleFailure.noPrompt(words: words).hiding("hunter2") == .noPrompt(words: nil))
    #expect(ConsoleFailure.noPrompt(words: words).hiding("swordfish") == .noPrompt(words: words))
    #expect(ConsoleFailure.noPrompt(words: "Press 2").hiding("hunter2") == .noPrompt(words: "Press 2"))
  }
}
