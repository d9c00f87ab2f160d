import Byway
import NIOCore
import TCPTransport
import Testing

@testable import BywayDevices
@testable import BywayProxy

/// Announcements of devices to the network.
@Suite("DNS-SD announcements") struct AnnouncementTests {
  private func rules(_ suffixes: [String], _ listen: String) throws -> AnnouncementRules {
    try AnnouncementRules(suffixes: suffixes, listen: TransportRegistry([TCPTransport()]).link(listen))
  }

  private func entry(
    _ name: String?, _ title: String? = nil, _ discovery: DiscoveredDevice.State? = nil
  ) throws -> DeviceEntry {
    DeviceEntry(
      name: try name.map { try #require(DeviceName($0)) }, title: title, addresses: [], isInbound: false,
      status: UpstreamStatus(.idle), discovery: discovery)
  }

  private let interfaces: [(index: Int, address: SocketAddress)]

  init() throws {
    interfaces = try ["192.0.2.7", "127.0.0.1", "2001:db8::7"].enumerated().map { index, address in
      (index + 1, try SocketAddress(ipAddress: address, port: 0))
    }
  }

  @Test("announcements require a suffix below local and an address that other machines reach")
  func refused() throws {
    #expect(throws: BywayError.self) { try rules(["devices.example"], "tcp://0.0.0.0:80?insecure=yes") }
    #expect(throws: BywayError.self) { try rules([], "tcp://0.0.0.0:80?insecure=yes") }
    #expect(throws: BywayError.self) { try rules(["local"], "tcp://127.0.0.1:80") }
    #expect(throws: BywayError.self) { try rules(["local"], "tcp://localhost:80") }
    #expect(try rules(["a.example", "Hall.Local"], "tcp://0.0.0.0:80?insecure=yes").domain == "hall.local")
  }

  @Test("announcements contain the listening addresses, and no loopback address")
  func addresses() throws {
    func told(_ listen: String) throws -> [[UInt8]] {
      let rules = try rules(["local"], listen)
      let place = try LinkAddress(listen)
      let found = rules.announcements(of: [try entry("printer")], at: place, interfaces: interfaces)
      return found.values.flatMap { $0.addresses.map(\.bytes) }
    }
    let six: [UInt8] = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]
    #expect(try told("tcp://0.0.0.0:80?insecure=yes") == [[192, 0, 2, 7]])
    #expect(try told("tcp://[::]:80?insecure=yes") == [[192, 0, 2, 7], six])
    #expect(try told("tcp://192.0.2.7:80?insecure=yes") == [[192, 0, 2, 7]])
    #expect(try told("tcp://192.0.2.8:80?insecure=yes") == [])
  }

  @Test("announcements contain the reachable devices, each with a unique title short enough for a DNS label")
  func titles() throws {
    let long = String(repeating: "ü", count: 40)
    let entries = try [
      entry(nil, "Default"), entry("a", "Printer"), entry("b", "printer"), entry("c", long), entry("d", long),
      entry("e", nil, .away(since: .now())), entry("f", nil, .unavailable("in use")), entry("g", nil, .present),
    ]
    let found = try rules(["local"], "tcp://0.0.0.0:80?insecure=yes").announcements(
      of: entries, at: LinkAddress("tcp://0.0.0.0:8080"), interfaces: interfaces)
    let titles = Dictionary(uniqueKeysWithValues: found.map { ($0.key.text, $0.value.title) })
    let short = String(repeating: "ü", count: 31)
    #expect(
      titles == [
        "a": "Printer", "b": "printer (b)", "c": short, "d": String(repeating: "ü", count: 29) + " (d)", "g": "g",
      ])
    #expect(found.values.allSatisfy { $0.port == 8080 && $0.service == "_http._tcp" && $0.title.utf8.count <= 63 })
    #expect(Set(found.values.map(\.host)) == ["a.local", "b.local", "c.local", "d.local", "g.local"])
  }
}
