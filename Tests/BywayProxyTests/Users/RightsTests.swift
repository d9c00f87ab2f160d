import Byway
import Testing

@testable import BywayProxy

/// Rights of users in a file.
@Suite("Rights of users") struct RightsTests {
  private static let text = """
    # the hall
    alice = printer, camera
    bob@example.org = *
      Carol Müller =  board-* @default
    * = lobby\r
    """

  private func allows(_ user: String, _ resource: String) throws -> Bool {
    let rights = try Rights(Self.text, named: "rights")
    let name = try #require(UserName(user))
    if resource == "-" { return rights.allow(name, .main) }
    let device = try #require(DeviceName(resource))
    return rights.allow(name, .device(device))
  }

  @Test(
    "a user has the devices of their own line and those of the line for all users",
    arguments: [
      ("alice", "printer", true), ("alice", "CAMERA", true), ("alice", "lobby", true), ("alice", "board-1", false),
      ("alice", "-", false), ("Alice", "printer", false), ("bob@example.org", "anything", true),
      ("bob@example.org", "-", true), ("Carol Müller", "board-7", true), ("Carol Müller", "board", false),
      ("Carol Müller", "aboard-7", false), ("Carol Müller", "-", true), ("dave", "lobby", true),
      ("dave", "printer", false),
    ])
  func allowed(user: String, device: String, isAllowed: Bool) throws {
    #expect(try allows(user, device) == isAllowed)
  }

  @Test("two spellings of the same characters are one user") func normalized() throws {
    #expect(try allows("Carol Mu\u{308}ller", "board-7"))
  }

  @Test(
    "an invalid right is refused with its line and the valid form",
    arguments: [
      ("alice printer", "rights, line 1: \"alice printer\" is not a right: write USER = DEVICE"),
      ("\n\nalice = printer_2", "rights, line 3: \"printer_2\" is not a device"),
      ("alice = -x", "\"-x\" is not a device"), ("alice = p*r", "\"p*r\" is not a device"),
      ("alice = @main", "@default for the default device"), ("alice =", "no device behind the ="),
      ("= printer", "\"\" cannot be a user"), ("a:b = printer", "cannot be a user"),
      ("al\u{7}ice = printer", "\"al?ice\" cannot be a user"),
      ("al\u{202E}ice = printer", "\"al?ice\" cannot be a user"),
      ("alice = a\nbob = b\nalice = c", "line 3: alice has its line already, line 1"),
      ("* = a\n*= b", "line 2: * has its line already"),
      ("Carol Mu\u{308}ller = a\nCarol M\u{FC}ller = b", "has its line already"),
    ])
  func refused(text: String, words: String) {
    #expect {
      _ = try Rights(text, named: "rights")
    } throws: { error in
      (error as? BywayError)?.message.contains(words) ?? false
    }
  }

  @Test(
    "a control character that some programs take for a line end is refused, also in a comment",
    arguments: ["\u{B}", "\u{C}", "\r", "\u{85}", "\u{2028}", "\u{2029}"])
  func hiddenLines(separator: String) {
    #expect {
      _ = try Rights("alice = printer\n# note \(separator)mallory = *\n", named: "rights")
    } throws: { error in
      (error as? BywayError)?.message.contains("rights, line 2: it has a character") ?? false
    }
  }

  @Test(
    "an invisible or ambiguous user name is refused",
    arguments: [
      "", " alice", "alice ", "al  ice", "a\u{0}b", "a\nb", "a\u{200B}b", "a\u{AD}b", "a\u{A0}b", "a\u{202E}b", "a,b",
      "a:b",
      "a=b", "*", "#a", "\u{FEFF}alice", "a\u{85}b", String(repeating: "x", count: 129),
    ])
  func hostileNames(text: String) {
    #expect(UserName(text) == nil)
  }

  @Test("a user name may be an address, and contain blanks and letters of any language")
  func names() {
    for name in [
      "alice", "bob@example.org", "Carol Müller", "Ōe Kenzaburō", "DOMAIN\\eve", String(repeating: "x", count: 128),
    ] {
      #expect(UserName(name)?.text == name)
    }
  }
}
