import Testing

@testable import Byway

@Suite struct LinkAddressTests {
  @Test("an address is split into scheme, authority, path and options")
  func splits() throws {
    let address = try LinkAddress("TLS://user@host:7000/a/b?ca=/etc/ca.pem&name=x%20y")
    #expect(address.scheme == "tls")
    #expect(address.authority == "user@host:7000")
    #expect(address.path == "/a/b")
    #expect(address[option: "ca"] == "/etc/ca.pem")
    #expect(address[option: "name"] == "x y")
    #expect(address.description == "TLS://user@host:7000/a/b?ca=/etc/ca.pem&name=x%20y")
  }

  @Test("the public name of an address has no options, and that of other text is the text")
  func publicName() {
    #expect(LinkAddress.publicName(of: "unix:/l?mode=0600") == "unix:/l")
    #expect(LinkAddress.publicName(of: "exec:ssh host secret") == "exec:ssh")
    #expect(LinkAddress.publicName(of: "the inspector") == "the inspector")
  }

  @Test("a path without an authority is kept unchanged")
  func path() throws {
    let address = try LinkAddress("unix:/run/by%20way.sock?mode=0660")
    #expect(address.authority == nil)
    #expect(address.path == "/run/by%20way.sock")
    #expect(try LinkAddress("stdio:").path == "")
  }

  @Test(
    "a question mark belongs to a command unless only options follow it",
    arguments: [
      ("exec:curl http://x/?a=b", "curl http://x/?a=b", nil),
      ("exec:ls /tmp?http=1.1", "ls /tmp", "1.1"),
      ("exec:sh -c 'echo what?'", "sh -c 'echo what?'", nil),
      ("exec://bin/x", "//bin/x", nil),
    ])
  func command(_ text: String, _ path: String, _ http: String?) throws {
    let address = try LinkAddress(text)
    #expect(address.path == path)
    #expect(address[option: "http"] == http)
  }

  @Test(
    "an invalid address is refused with the valid form",
    arguments: ["", "/run/x.sock", ":x", "un ix:/x", "unix:/x?mode", "unix:/x?=1", "unix:/x?a=%zz"])
  func refuses(_ text: String) {
    let error = #expect(throws: BywayError.self) { try LinkAddress(text) }
    #expect(error?.code == .invalidAddress)
  }

  @Test(
    "hosts and ports are parsed",
    arguments: [
      ("tcp://127.0.0.1:80", "127.0.0.1", 80, nil), ("tcp://[::1]:80", "::1", 80, nil), ("tcp://h", "h", nil, nil),
      ("tcp://u@h:0", "h", 0, "u"), ("tcp://[::1]", "::1", nil, nil), ("tcp://h:", "h", nil, nil),
      ("tcp://Host.Example.:80", "Host.Example.", 80, nil), ("tcp://[fe80::1%eth0]:80", "fe80::1%eth0", 80, nil),
    ] as [(String, String, Int?, String?)])
  func hostPort(_ text: String, _ host: String, _ port: Int?, _ user: String?) throws {
    let read = try LinkAddress(text).hostPort()
    #expect(read.host == host)
    #expect(read.port == port)
    #expect(read.user == user)
  }

  @Test(
    "invalid hosts and ports are refused",
    arguments: [
      "tcp:", "tcp://", "tcp://:80", "tcp://h:x", "tcp://[fe80::1%]:80", "tcp://h:65536", "tcp://[::1:80", "tcp://h:+1",
    ])
  func noHostPort(_ text: String) throws {
    let address = try LinkAddress(text)
    let error = #expect(throws: BywayError.self) { try address.hostPort() }
    #expect(error?.code == .invalidAddress)
  }
}
