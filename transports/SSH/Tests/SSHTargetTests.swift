import Byway
import Testing
import TransportTestSupport

@testable import SSHTransport

@Suite("Addresses of ssh: links") struct SSHTargetTests {
  @Test(
    "the destination of an ssh: address is parsed",
    arguments: [
      ("ssh://h/run/x.sock", SSHTarget.Purpose.dial(.socket(path: "/run/x.sock"))),
      ("ssh://u@h:2222/x?http=1.1", .dial(.socket(path: "/x"))),
      ("ssh://h?tcp=127.0.0.1:80", .dial(.port(host: "127.0.0.1", port: 80))),
      ("ssh://h?tcp=[::1]:80", .dial(.port(host: "::1", port: 80))),
      ("ssh://h?command=a b%26c", .dial(.command("a b&c"))),
      ("ssh://h?listen=8080", .listen(host: "localhost", port: 8080)),
      ("ssh://h?listen=0.0.0.0:0", .listen(host: "0.0.0.0", port: 0)),
    ])
  func purposes(_ text: String, _ purpose: SSHTarget.Purpose) throws {
    #expect(try SSHTarget(LinkAddress(text)).purpose == purpose)
  }

  @Test("user, host and port of an ssh: address are parsed") func login() throws {
    let login = try SSHTarget(LinkAddress("ssh://me@[::1]:2222/x")).login
    #expect(login.user == "me" && login.host == "::1" && login.port == 2222)
    let short = try SSHTarget(LinkAddress("ssh://alias/x")).login
    #expect(short.user == nil && short.port == nil)
  }

  @Test(
    "a missing, invalid or second destination is refused with what to write",
    arguments: [
      ("ssh://h", "does not say where"), ("ssh://h/", "does not say where"), ("ssh:/x", "has no host"),
      ("ssh:///x", "has no host"), ("ssh://-oProxyCommand=x/x", "has no host"), ("ssh://h:0/x", "has no host"),
      ("ssh://h/x?tcp=a:1", "more than one"), ("ssh://h?tcp=80", "not a host and port"),
      ("ssh://h?tcp=a:0", "not a host and port"), ("ssh://h?command=", "is empty"),
      ("ssh://h?listen=/run/x", "only listen on ports"), ("ssh://h?listen=x", "is not a port"),
      ("ssh://h?listen=70000", "is not a port"), ("ssh://h/\(String(repeating: "x", count: 107))", "longer than"),
    ])
  func refused(_ text: String, _ words: String) async throws {
    let error = await bywayError { try SSHTransport().check(LinkAddress(text)) }
    #expect(error?.code == .invalidAddress)
    #expect(error?.message.contains(words) == true, "\(error as Any)")
  }

  @Test("an address to dial cannot be listened on, and an address to listen on cannot be dialed") func directions()
    async throws
  {
    let transport = SSHTransport()
    let dial = await bywayError {
      try await transport.listen(on: LinkAddress("ssh://h/x"), context: .test(limit: .seconds(60)))
    }
    #expect(dial?.code == .invalidAddress && dial?.message.contains("open=dial") == true)
    let listen = await bywayError {
      try await transport.connect(to: LinkAddress("ssh://h?listen=1"), context: .test(limit: .seconds(60)))
    }
    #expect(listen?.code == .invalidAddress)
  }
}
