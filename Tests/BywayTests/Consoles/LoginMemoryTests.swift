import NIOCore
import Testing

@testable import Byway

/// The memory of logins at consoles.
@Suite struct LoginMemoryTests {
  private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
  private var memory = LoginMemory()

  private func key(_ user: String, at place: String = "/c") throws -> LoginMemory.Key {
    let text = "unix:\(place)?login=\(user)"
    return LoginMemory.Key(try LinkAddress(text), try ConsoleRig.settings(text))
  }

  @Test("the password of the environment is for links that name no variable of their own")
  mutating func taken() throws {
    let key = try key("root")
    #expect(memory.password(of: key, variable: "BYWAY_LINK_PASSWORD") == nil)
    memory.taken = "from the environment"
    #expect(memory.password(of: key, variable: "BYWAY_LINK_PASSWORD") == "from the environment")
    #expect(memory.password(of: key, variable: "OTHER") == nil)
    memory.remember("typed", of: key)
    #expect(memory.password(of: key, variable: "BYWAY_LINK_PASSWORD") == "typed")
    #expect(memory.password(of: key, variable: "OTHER") == "typed")
    #expect(try memory.password(of: self.key("root", at: "/d"), variable: "OTHER") == nil)
    #expect(try memory.password(of: self.key("other"), variable: "OTHER") == nil)
  }

  @Test("at most 64 typed passwords are kept")
  mutating func manyPasswords() throws {
    for number in 1...65 { memory.remember("p\(number)", of: try key("u\(number)")) }
    #expect(memory.password(of: try key("u64"), variable: "X") == "p64")
    #expect(memory.password(of: try key("u65"), variable: "X") == nil)
  }

  @Test("a refusal lasts a minute, for its user at its console")
  mutating func refusal() throws {
    memory.noteRefusal(.refused(words: "no"), of: try key("root"), at: start)
    #expect(memory.refusal(of: try key("root"), at: start + .milliseconds(59_999)) == .refused(words: "no"))
    #expect(memory.refusal(of: try key("root"), at: start + .seconds(60)) == nil)
    #expect(memory.refusal(of: try key("other"), at: start) == nil)
    #expect(memory.refusal(of: try key("root", at: "/d"), at: start) == nil)
  }

  @Test("the first 64 refusals at once are kept, and expired ones make room")
  mutating func manyRefusals() throws {
    for number in 1...65 { memory.noteRefusal(.silent, of: try key("u\(number)"), at: start) }
    #expect(memory.refusal(of: try key("u64"), at: start) == .silent)
    #expect(memory.refusal(of: try key("u65"), at: start) == nil)
    let later = start + .seconds(60)
    memory.noteRefusal(.endless, of: try key("u65"), at: later)
    #expect(memory.refusal(of: try key("u65"), at: later) == .endless)
  }
}
