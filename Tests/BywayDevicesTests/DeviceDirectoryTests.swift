import BywayHTTPWire
import LoopbackTransport
import Testing

@testable import Byway
@testable import BywayDevices

/// Names, suffixes and patterns of devices, without links.
@Suite("Device names in hosts") struct DeviceDirectoryTests {
  private let transports = TransportRegistry([LoopbackTransport()])

  private func device(_ name: String) throws -> Device {
    try Device(#require(DeviceName(name)), links: [transports.link("loopback:\(name)")])
  }

  @Test("a device name directly precedes localhost or a suffix")
  func hosts() throws {
    let hosts = try DeviceHosts(suffixes: ["devices.example", ".other"])
    func meaning(_ host: String) throws -> DeviceHosts.Meaning? { hosts.meaning(of: try Host(host)) }
    let printer = try #require(DeviceName("printer"))
    for host in ["printer.localhost", "Printer.LOCALHOST.", "printer.devices.example", "printer.other"] {
      #expect(try meaning(host) == .device(printer), "\(host)")
    }
    #expect(try meaning("byway.localhost") == .frontPage)
    for host in ["localhost", "devices.example", "example", "notlocalhost", "printer.localhost.example", "127.0.0.1"] {
      #expect(try meaning(host) == nil, "\(host)")
    }
    for (host, label) in [("a.b.localhost", "a.b"), ("_x.localhost", "_x"), ("-x.localhost", "-x")] {
      #expect(try meaning(host) == .notAName(label), "\(host)")
    }
  }

  @Test("the longer of two matching suffixes is used")
  func longest() throws {
    let hosts = try DeviceHosts(suffixes: ["example", "devices.example"])
    #expect(try hosts.meaning(of: Host("printer.devices.example")) == .device(#require(DeviceName("printer"))))
    #expect(try hosts.meaning(of: Host("printer.example")) == .device(#require(DeviceName("printer"))))
    #expect(try hosts.meaning(of: Host("byway.devices.example")) == .frontPage)
  }

  @Test("a name reserved in the configuration cannot be claimed by a discovered device")
  func given() throws {
    let pattern = try DevicePattern("pi-{name}", links: ["loopback:{name}"]) { try transports.link($0) }
    let directory = try DeviceDirectory([device("printer")], patterns: [pattern])
    for (name, isGiven) in [("printer", true), ("pi-x", true), ("byway", true), ("camera", false), ("pi", false)] {
      #expect(try directory.hasGiven(#require(DeviceName(name))) == isGiven, "\(name)")
    }
    let all = try DevicePattern("{name}", links: ["loopback:{name}"]) { try transports.link($0) }
    #expect(throws: BywayError.self) {
      try DeviceDirectory([], patterns: [all], main: [], suffixes: [], isOpen: true)
    }
  }

  @Test("an invalid domain suffix is refused", arguments: ["", "127.0.0.1", "a b", "http://x", "x:80", "*"])
  func badSuffix(text: String) {
    #expect(throws: BywayError.self) { try DeviceHosts(suffixes: [text]) }
  }

  @Test("duplicate device names and the name of the device list are refused")
  func clashes() throws {
    #expect(throws: BywayError.self) { try DeviceDirectory([device("a"), device("A")]) }
    #expect(throws: BywayError.self) { try DeviceDirectory([device("byway")]) }
    #expect(throws: BywayError.self) { try Device(#require(DeviceName("a")), links: []) }
  }

  @Test(
    "the placeholder {name} matches device names only",
    arguments: [
      ("pi-kitchen", "loopback:kitchen/x"), ("PI-Kitchen", "loopback:kitchen/x"), ("pi-1", "loopback:1/x"),
      ("pi-a-b", "loopback:a-b/x"), ("pi-", nil), ("pi", nil), ("kitchen", nil), ("pi--oProxyCommand", nil),
    ])
  func pattern(name: String, link: String?) throws {
    let pattern = try DevicePattern("pi-{name}", links: ["loopback:{name}/x"]) { try transports.link($0) }
    let device = try DeviceName(name).flatMap { try pattern.device(named: $0) }
    #expect(device?.links.first?.address.text == link)
  }

  @Test(
    "an invalid pattern is reported at the start",
    arguments: [
      ("name", "loopback:{name}"), ("{name}", "loopback:x"), ("a.{name}", "loopback:{name}"),
      ("-{name}", "loopback:{name}"),
      ("{name}", "nothing:{name}"), ("{name}{name}", "loopback:{name}"),
    ])
  func badPattern(text: String, link: String) {
    #expect(throws: BywayError.self) { try DevicePattern(text, links: [link]) { try transports.link($0) } }
  }
}
