import NIOCore
import Testing

@testable import Byway

@Suite struct ConsoleSettingsTests {
  private let registry = TransportRegistry([Medium(scheme: "unix"), Medium(scheme: "exec")])

  @Test("a link without a login and a command has no console, and no line")
  func none() throws {
    let link = try registry.link("unix:/console")
    #expect(link.console == nil && link.line == nil)
  }

  @Test("a link with a login is a line, and names its user, its command and its password's variable")
  func options() throws {
    let link = try registry.link(
      "unix:/console?login=root&shell=/tmp/byway%20gateway&login-password=env:CONSOLE&line=9600")
    #expect(link.console?.user == "root")
    #expect(link.console?.command == "/tmp/byway gateway")
    #expect(link.console?.program == "/tmp/byway")
    #expect(link.console?.passwordVariable == "CONSOLE")
    #expect(link.console?.baud == 9600)
    #expect(link.isLine)
    let other = try registry.link("exec:ssh box?login=root")
    #expect(other.console?.passwordVariable == "BYWAY_LINK_PASSWORD")
    #expect(other.isLine && other.console?.baud == nil)
  }

  @Test(
    "an option of a console that cannot work is refused",
    arguments: [
      ("unix:/c?login=", "login="), ("unix:/c?login=two%20words", "login="), ("unix:/c?login=-f", "login="),
      ("unix:/c?login=a%0Ab", "login="), ("unix:/c?shell=%20", "shell="), ("unix:/c?shell=a%0Ab", "shell="),
      ("unix:/c?login-password=env:X", "login=USER"), ("unix:/c?login=a&login-password=hunter2", "env:NAME"),
      ("unix:/c?login=a&open=listen", "open=listen"),
    ])
  func refused(_ text: String, _ words: String) {
    let error = #expect(throws: BywayError.self) { try registry.link(text) }
    #expect(error?.code == .invalidAddress)
    #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    #expect(error?.message.contains("hunter2") == false)
  }

  @Test("a login that was refused is not tried again for a minute")
  func refusal() throws {
    let address = try LinkAddress("unix:/console-of-refusal?login=root")
    let link = try registry.link(address)
    let settings = try #require(link.console)
    let now = NIODeadline.uptimeNanoseconds(1_000_000_000)
    #expect(ConsolePasswords.refusal(of: address, settings, at: now) == nil)
    ConsolePasswords.noteRefusal(.refused(words: "no"), of: address, settings, at: now)
    #expect(ConsolePasswords.refusal(of: address, settings, at: now + .seconds(59)) == .refused(words: "no"))
    #expect(ConsolePasswords.refusal(of: address, settings, at: now + .seconds(61)) == nil)
    var other = settings
    other.user = "operator"
    #expect(ConsolePasswords.refusal(of: address, other, at: now) == nil)
  }
}

private struct Medium: Transport {
  let scheme: String

  func check(_ address: LinkAddress) {}

  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    throw BywayError(.linkUnavailable, "There is no medium.")
  }

  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    throw BywayError(.linkUnavailable, "There is no medium.")
  }
}
