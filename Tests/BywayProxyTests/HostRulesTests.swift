import Byway
import BywayHTTPWire
import Testing

@testable import BywayProxy

/// The hosts that a proxy on TCP accepts.
@Suite struct HostRulesTests {
  private let rules: HostRules

  init() throws {
    rules = try HostRules(names: ["device.example", "other.example:9000", "192.168.7.1", "[fd00::1]"])
  }

  private func admit(_ request: FieldSection, port: Int? = 8080) throws -> FieldSection {
    var head = ExchangeHead(fields: request, isComplete: true)
    _ = try rules.target(of: &head, port: port)
    return head.fields
  }

  private func refusal(_ request: FieldSection) -> BywayError.Code? {
    do {
      _ = try admit(request)
      return nil
    } catch {
      return (error as? BywayError)?.code
    }
  }

  @Test("the default port of HTTP may be omitted from a host")
  func defaultPort() throws {
    let rules = try HostRules(names: ["device.example:80"])
    for (host, isOwn) in [("device.example", true), ("device.example:80", true), ("device.example:81", false)] {
      #expect(rules.isOwn(try Authority(host)) == isOwn, "\(host)")
    }
  }

  @Test(
    "loopback names and addresses are accepted as hosts with any port, and names set by the user",
    arguments: [
      "localhost", "LOCALHOST", "localhost.", "localhost:", "localhost:8080", "localhost.:8080", "localhost:1",
      "127.0.0.1", "127.0.0.1:8080", "127.1.2.3:80", "127.0.0.1.", "[::1]", "[::1]:8080", "[0:0:0:0:0:0:0:1]:8080",
      "device.example", "Device.Example:8080", "device.example.", "other.example:9000", "192.168.7.1:8080",
      "[fd00:0::1]:8080",
    ])
  func accepted(host: String) throws {
    #expect(refusal([":authority": host]) == nil)
  }

  @Test(
    "any other host gets 421, including similar ones",
    arguments: [
      "evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "evil.localhost",
      "127.0.0.1.evil.example:8080", "localhost@evil.example", "evil.example@localhost", "localhost:8080@evil.example",
      "localhost:80:80", "localhost:x", "localhost..", "localhost%2eevil", " localhost", "", ".", ":8080",
      "127.0.0.1:99999", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "0.0.0.0", "128.0.0.1", "[::]",
      "[::ffff:127.0.0.1]", "[::1", "::1", "[::1]evil", "[::1%lo]", "device.example.evil", "xdevice.example",
      "other.example", "other.example:8080", "192.168.7.2",
    ])
  func misdirected(host: String) throws {
    #expect(refusal([":authority": host]) == .misdirected)
  }

  @Test("a request without a host gets 421")
  func absent() {
    #expect(refusal([":method": "GET", ":path": "/"]) == .misdirected)
  }

  @Test("the 421 response has advice")
  func message() throws {
    let error = #expect(throws: BywayError.self) { try admit([":authority": "evil.example"]) }
    #expect(error?.message.contains("\"evil.example\"") == true)
    #expect(error?.message.contains("add evil.example to its names") == true)
    #expect(error?.advice == .allowHost("evil.example"))
  }

  @Test("a request in absolute form passes with its mark, so that the gateway decides")
  func absoluteForm() throws {
    let request: FieldSection = [":scheme": "http", ":authority": "evil.example", "byway-target-form": "absolute"]
    #expect(try admit(request).contains(.targetForm))
  }

  @Test(
    "absolute form with the proxy's own name and port addresses the device behind it",
    arguments: [
      ("http", "localhost:8080", 8080), ("HTTP", "127.0.0.1:8080", 8080), ("http", "localhost", 80),
      ("http", "device.example:8080", 8080),
    ])
  func ownAbsoluteForm(scheme: String, authority: String, port: Int) throws {
    let request: FieldSection = [":scheme": scheme, ":authority": authority, "byway-target-form": "absolute"]
    #expect(try !admit(request, port: port).contains(.targetForm))
  }

  @Test(
    "absolute form with another port or scheme addresses another server",
    arguments: [
      ("http", "localhost:3000"), ("http", "localhost"), ("https", "localhost:8080"),
    ])
  func foreignAbsoluteForm(scheme: String, authority: String) throws {
    let request: FieldSection = [":scheme": scheme, ":authority": authority, "byway-target-form": "absolute"]
    #expect(try admit(request).contains(.targetForm))
  }

  @Test("absolute form addresses another server if the proxy's port is unknown")
  func unknownPort() throws {
    let request: FieldSection = [":scheme": "http", ":authority": "localhost:80", "byway-target-form": "absolute"]
    #expect(try admit(request, port: nil).contains(.targetForm))
    #expect(refusal([":authority": "evil.example"]) == .misdirected)
  }

  @Test("the host rules do not apply to the target of CONNECT, but do apply to a WebSocket")
  func tunnels() {
    #expect(refusal([":method": "CONNECT", ":authority": "evil.example:443"]) == nil)
    #expect(
      refusal([":method": "CONNECT", ":protocol": "websocket", ":authority": "evil.example"]) == .misdirected)
  }

  @Test(
    "an invalid name is reported at the start of the proxy", arguments: ["", "a b", "user@host", "host:port", "[::1"])
  func badNames(name: String) {
    let error = #expect(throws: BywayError.self) { try HostRules(names: [name]) }
    #expect(error?.code == .invalidAddress)
  }
}
