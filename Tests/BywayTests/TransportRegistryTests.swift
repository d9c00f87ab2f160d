import Byway
import NIOCore
import Testing

@Suite struct TransportRegistryTests {
  private struct Pigeon: Transport {
    let scheme: String
    var options = [LinkOption("mode", "permission bits")]

    func check(_ address: LinkAddress) throws {
      if address.path.isEmpty { throw BywayError(.invalidAddress, "A pigeon needs a loft.") }
    }
    func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
      throw BywayError(.linkUnavailable, "no pigeon")
    }
    func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
      throw BywayError(.linkUnavailable, "no loft")
    }
  }

  private let registry = TransportRegistry([Pigeon(scheme: "unix"), Pigeon(scheme: "serial")])

  @Test("a transport is found by scheme, and the common link options are parsed")
  func finds() throws {
    #expect(try registry.link("unix:/x").framing == .http2)
    #expect(try registry.link("SERIAL:/x?http=1.1&mode=1").framing == .http1)
    #expect(try registry.link("unix:/x").opening == nil)
    #expect(try registry.link("unix:/x?open=dial").opening == .dial)
    #expect(try registry.link("unix:/x?open=listen").opening == .listen)
  }

  @Test("an address with a scheme that this build lacks is refused with the advice for it")
  func omitted() throws {
    let registry = TransportRegistry([Pigeon(scheme: "unix")], omitted: ["ssh": "Build it with --traits SerialAndSSH."])
    for ask in [{ _ = try registry.link("ssh://device/x?key=1") }, { _ = try registry.options(of: "SSH") }] {
      let error = try #require(throws: BywayError.self) { try ask() }
      #expect(error.code == .unknownScheme)
      #expect(error.message == "This program was built without links of ssh:. Build it with --traits SerialAndSSH.")
    }
    #expect(registry.schemes == ["unix"])
    #expect(throws: BywayError.self) { try registry.link("unx:/x") }
  }

  @Test(
    "a misspelled scheme or option is reported with the nearest one and all known ones",
    arguments: [
      ("unx:/x", "Did you mean \"unix\"? Known: serial, unix."),
      ("seriall:/x", "Did you mean \"serial\"?"),
      ("unix:/x?mdoe=1", "Did you mean \"mode\"? Known: mode, http, line, open, login, login-password, shell, jitter."),
      ("zzzzzzzz:/x", "Known: serial, unix."),
    ])
  func misspelt(_ text: String, _ hint: String) {
    let error = #expect(throws: BywayError.self) { try registry.link(text) }
    #expect(error?.message.contains(hint) == true, "\(error?.message ?? "")")
  }

  @Test("hyphens and underscores in the names of options are equal")
  func spelling() throws {
    let options = [LinkOption("loft_key", "a key"), LinkOption("seed-mix", "food")]
    let registry = TransportRegistry([Pigeon(scheme: "unix", options: options)])
    for text in ["unix:/x?loft-key=1&seed_mix=2", "unix:/x?loft_key=1&seed-mix=2"] {
      let address = try registry.link(text).address
      #expect(address[option: "loft_key"] == "1" && address[option: "seed-mix"] == "2" && address.text == text)
    }
  }

  @Test("the transport validates its own address")
  func judges() {
    #expect(throws: BywayError.self) { try registry.link("unix:") }
    for options in ["http=3", "open=both", "open=listen&http=1.1"] {
      #expect(throws: BywayError.self) { try registry.link("unix:/x?\(options)") }
    }
  }
}
