import Byway
import Testing

@testable import SSHTransport

@Suite("Options of ssh: addresses for trust and login")
struct ConfigOptionsTests {
  @Test("every option for trust and login is read")
  func everyOption() throws {
    let options = try LoginOptions(
      LinkAddress(
        "ssh://h?identity=/k&known_hosts=/h&config=none&host-key-checking=accept-new&password=env:P&passphrase=env:Q"))
    #expect(options.identity == "/k")
    #expect(options.knownHosts == "/h")
    #expect(options.config == "none")
    #expect(options.keyChecking == .acceptNew)
    #expect(options.password?.variable == "P")
    #expect(options.passphrase?.variable == "Q")
  }

  @Test(
    "an invalid option for trust or login is refused, and the error does not repeat a password",
    arguments: ["password=hunter2", "password=env:", "passphrase=hunter2", "host-key-checking=no", "identity="])
  func refused(option: String) throws {
    let address = try LinkAddress("ssh://h?\(option)")
    let error = #expect(throws: BywayError.self) { try LoginOptions(address) }
    #expect(error?.code == .invalidAddress)
    #expect(error?.message.contains("hunter2") == false)
  }
}
