import Byway
import Testing

@testable import ProcessTransport

@Suite struct CommandLineWordsTests {
  @Test(
    "a command line is split into words as a shell does",
    arguments: [
      ("cat", ["cat"]),
      ("  socat - \t/dev/ttyUSB0,raw ", ["socat", "-", "/dev/ttyUSB0,raw"]),
      (#"a 'b c' "d e" f\ g"#, ["a", "b c", "d e", "f g"]),
      (#"a b'c'"d"\e"#, ["a", "bcde"]),
      (#"a '' """#, ["a", "", ""]),
      (#"a 'x\y"z'"#, ["a", #"x\y"z"#]),
      (#"a "x\"y\\z\$w\n'""#, ["a", #"x"y\z$w\n'"#]),
      (#"a $HOME `b` * ; | > c"#, ["a", "$HOME", "`b`", "*", ";", "|", ">", "c"]),
      ("a 'ü\n'", ["a", "ü\n"]),
    ])
  func splits(_ command: String, _ words: [String]) throws {
    #expect(try CommandLineWords(command).words == words)
  }

  @Test(
    "an incomplete command line is refused", arguments: ["", "  ", "a 'b", "a \"b", "a \"b\\", "a \\", "'' b", "a\0b"])
  func refuses(_ command: String) {
    #expect(throws: BywayError.self) { try CommandLineWords(command) }
  }
}
