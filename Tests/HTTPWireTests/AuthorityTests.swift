import BywayHTTPWire
import NIOCore
import Testing

@Suite("Authorities in all spellings")
struct AuthorityTests {
  private static let longest = String(repeating: String(repeating: "a", count: 62) + ".", count: 4) + "b"

  @Test(
    "equivalent authorities have one spelling",
    arguments: [
      ("h", "h"), ("H.Example", "h.example"), ("h.example.", "h.example"), ("h.example.:80", "h.example:80"),
      ("h:", "h"), ("h:0", "h:0"), ("h:65535", "h:65535"), ("h:00080", "h:80"), ("a_b-c", "a_b-c"), ("-", "-"),
      ("xn--bcher-kva.example", "xn--bcher-kva.example"), ("XN--BCHER-KVA.Example", "xn--bcher-kva.example"),
      ("3com.example", "3com.example"), ("1.2.3.4.example", "1.2.3.4.example"), ("0xg", "0xg"), ("x0", "x0"),
      (longest, longest), (longest + ".", longest), ("127.0.0.1", "127.0.0.1"), ("127.0.0.1.:8", "127.0.0.1:8"),
      ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("[::]", "[::]"), ("[::1]:80", "[::1]:80"),
      ("[0:0:0:0:0:0:0:1]", "[::1]"), ("[2001:DB8:0:0:1:0:0:1]", "[2001:db8::1:0:0:1]"),
      ("[2001:db8:0:1:1:1:1:1]", "[2001:db8:0:1:1:1:1:1]"), ("[1::]", "[1::]"),
      ("[1:2:3:4:5:6:7::]", "[1:2:3:4:5:6:7:0]"),
      ("[::2:3:4:5:6:7:8]", "[0:2:3:4:5:6:7:8]"), ("[::FFFF:127.0.0.1]", "[::ffff:127.0.0.1]"),
      ("[::ffff:7f00:1]", "[::ffff:127.0.0.1]"), ("[64:ff9b::192.0.2.33]", "[64:ff9b::c000:221]"),
    ])
  func same(_ text: String, _ canonical: String) throws {
    let authority = try Authority(text)
    #expect("\(authority)" == canonical)
    #expect(try Authority(canonical) == authority)
    #expect(FieldGrammar.isAuthority(text))
  }

  @Test(
    "an invalid authority is refused with its flaw",
    arguments: [
      ("", .empty), (":80", .empty), (".", .label), ("u@h", .userInformation), ("u:p@h:80", .userInformation),
      ("@h", .userInformation), ("[u@h]", .userInformation), ("bücher.example", .otherScript),
      ("\u{FF44}evice.example", .otherScript), ("h\u{3002}example", .otherScript), ("%68", .percentEncoding),
      ("h%2eexample", .percentEncoding), ("h h", .character), ("h/", .character), ("h?", .character),
      ("h#", .character), ("h\\", .character), ("h\r\n", .character), ("h\0", .character), ("*", .character),
      ("a~b", .character), ("h,i", .character), (".h", .label), ("h..", .label), ("a..h", .label),
      (String(repeating: "a", count: 64), .length), (longest + "b", .length), (longest + "b.", .length),
      (String(repeating: "a.", count: 150), .length), ("127.1", .number), ("2130706433", .number),
      ("0x7f.0.0.1", .number), ("0177.0.0.1", .number), ("010.0.0.1", .number), ("127.0.0.00", .number),
      ("127.0.0.256", .number), ("1.2.3.4.5", .number),
      ("h.1", .number), ("0x", .number), ("[]", .address), ("[::1", .address), ("[::1]x", .address),
      ("[:::]", .address), ("[1:2:3:4:5:6:7]", .address), ("[1:2:3:4:5:6:7:8:9]", .address), ("[::1::]", .address),
      ("[12345::]", .address), ("[::g]", .address), ("[127.0.0.1]", .address), ("[v1.x]", .address),
      ("[1:2:3:4:5:6:7:1.2.3.4]", .address), ("[::1.2.3]", .address), ("[::1:]", .address), ("[:1::]", .address),
      ("[1::2:3:4:5:6:7:8]", .address), ("[fe80::1%eth0]", .zone), ("[fe80::1%25eth0]", .zone), ("::1", .empty),
      ("h:65536", .port), ("h:999999", .port), ("h:-1", .port), ("h:+1", .port), ("h:8o", .port), ("h:1:2", .port),
      ("h:000080", .port), ("h: 80", .port), ("[::1]:99999", .port),
    ] as [(String, AuthorityFlaw)])
  func refused(_ text: String, _ flaw: AuthorityFlaw) {
    #expect(throws: flaw) { try Authority(text) }
    #expect(!FieldGrammar.isAuthority(text))
  }

  @Test("an IP address is parsed as the system does")
  func asTheSystem() throws {
    var generator = SystemRandomNumberGenerator()
    let alphabet = Array("0123:ab.f:::")
    var good = 0
    for _ in 0..<50_000 {
      let text = String((0..<Int.random(in: 2...14, using: &generator)).map { _ in alphabet.randomElement() ?? ":" })
      guard text.contains(":") else { continue }
      let theirs = try? SocketAddress(ipAddress: text, port: 0)
      let ours = try? Authority("[\(text)]")
      #expect((ours != nil) == (theirs != nil), "\(text)")
      guard let ours, let theirs else { continue }
      good += 1
      #expect(try SocketAddress(ipAddress: ours.host.text, port: 0) == theirs, "\(text)")
    }
    #expect(good > 100)
  }

  @Test("a default port of the scheme is optional")
  func defaultPorts() throws {
    #expect(try Authority("h:80").text(for: "http") == "h")
    #expect(try Authority("h:80").text(for: "https") == "h:80")
    #expect(try Authority("[::1]:443").text(for: "wss") == "[::1]")
    #expect(try Authority("h:80").text(for: "key") == "h:80")
    #expect(try Authority("h").port(for: "https") == 443)
    #expect(try Authority("h").port(for: "key") == nil)
    #expect(try Authority("h:8").port(for: "http") == 8)
  }

  @Test("a host has no port, and an IPv6 address may omit its brackets")
  func hosts() throws {
    #expect(try Host("::1") == Host("[0::1]"))
    #expect(try Host("Device.") == .name("device"))
    for text in ["h:80", "h:", "[::1]:80", "fe80::1%eth0", "", "u@h", "::1]"] {
      #expect(throws: AuthorityFlaw.self, "\(text)") { try Host(text) }
    }
  }

  @Test(
    "names and addresses of this machine are recognized",
    arguments: [
      ("localhost", true), ("LOCALHOST.", true), ("127.0.0.1", true), ("127.255.0.9", true), ("::1", true),
      ("128.0.0.1", false), ("0.0.0.0", false), ("::", false), ("::ffff:127.0.0.1", false), ("localhost.x", false),
    ])
  func loopback(_ text: String, _ isLoopback: Bool) throws {
    #expect(try Host(text).isLoopback == isLoopback)
  }

  @Test(
    "a pattern matches one host, all hosts below a name, or any",
    arguments: [
      ("device", "device", true), ("Device.", "DEVICE", true), ("device", "xdevice", false), ("device", "devic", false),
      ("*.dev.local", "a.dev.local", true), ("*.dev.local", "A.B.DEV.local.", true),
      ("*.dev.local", "dev.local", false),
      ("*.dev.local", "evilxdev.local", false), ("*.dev.local", "xdev.local", false),
      ("*.dev.local", "dev.local.evil", false), ("*.dev.local", "[::1]", false), ("*", "anything", true),
      ("*", "[::1]", true), ("::1", "[0::1]", true), ("[::1]", "[::2]", false), ("127.0.0.1", "127.0.0.1.", true),
      ("127.0.0.1", "[::ffff:127.0.0.1]", false), ("0.0.0.1", "[::1]", false),
    ])
  func patterns(_ pattern: String, _ host: String, _ isMatch: Bool) throws {
    let pattern = try HostPattern(pattern)
    #expect(pattern.matches(try Authority(host).host) == isMatch)
    let inPlace = try Array(host.utf8).withUnsafeBytes { bytes in
      pattern.matches(try AuthoritySpelling(bytes).host, in: bytes)
    }
    #expect(inPlace == isMatch)
  }

  @Test(
    "an invalid pattern is refused", arguments: ["", "*.", "a*b", "*.*", "*a", "*.[::1]", "*.1.2.3.4", "h:80", "**"])
  func noPattern(_ text: String) {
    #expect(throws: AuthorityFlaw.self) { try HostPattern(text) }
  }

  @Test("each flaw has a description", arguments: AuthorityFlaw.allCases)
  func words(_ flaw: AuthorityFlaw) {
    #expect(flaw.description.count > 10)
  }
}

extension FieldGrammar {
  fileprivate static func isAuthority(_ text: String) -> Bool {
    Array(text.utf8).withUnsafeBytes { isAuthority($0) }
  }
}
