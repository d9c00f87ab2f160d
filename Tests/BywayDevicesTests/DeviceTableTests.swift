import BywayHTTPWire
import Logging
import LoopbackTransport
import NIOCore
import NIOEmbedded
import Testing

@testable import Byway
@testable import BywayDevices

/// Devices opened and closed in virtual time.
@Suite("Devices opened on demand") struct DeviceTableTests {
  private let loop = EmbeddedEventLoop()
  private let transports = TransportRegistry([LoopbackTransport()])

  private func table(_ directory: DeviceDirectory) -> DeviceTable {
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    return DeviceTable(
      directory, OpenDevice.Terms(hop: nil, patience: .seconds(1), liveness: nil, logger: quiet), on: loop)
  }

  private func patterns() throws -> DeviceDirectory {
    let pattern = try DevicePattern("{name}", links: ["loopback:{name}"]) { try transports.link($0) }
    return try DeviceDirectory([], patterns: [pattern])
  }

  private func name(_ text: String) throws -> DeviceName { try #require(DeviceName(text)) }

  @Test("at most 32 devices of a pattern are open, and the least recently used is closed")
  func bound() throws {
    let table = table(try patterns())
    let first = try table.device(named: name("first"))
    for number in 0..<40 {
      loop.advanceTime(by: .milliseconds(1))
      _ = try table.device(named: name("d\(number)"))
      #expect(try table.device(named: name("first")) === first)
      #expect(table.openNames.count <= 32)
    }
    #expect(try table.openNames.contains(name("first")) && !table.openNames.contains(name("d0")))
  }

  @Test("a device of a pattern closes after five minutes without use, and opens again")
  func idle() throws {
    let table = table(try patterns())
    let old = try table.device(named: name("old"))
    loop.advanceTime(by: .minutes(4))
    _ = try table.device(named: name("young"))
    loop.advanceTime(by: .minutes(2))
    #expect(try table.openNames == [name("young")])
    #expect(try table.device(named: name("old")) !== old)
    loop.advanceTime(by: .minutes(20))
    #expect(table.openNames.isEmpty)
  }

  @Test("a reload that keeps a pattern keeps its open devices")
  func reload() throws {
    let table = table(try patterns())
    let device = try table.device(named: name("pi"))
    table.replace(by: try patterns(), table.terms, DeviceTable.Preparation())
    #expect(try table.device(named: name("pi")) === device)
    table.replace(by: try DeviceDirectory([], patterns: []), table.terms, DeviceTable.Preparation())
    #expect(table.openNames.isEmpty)
  }

  @Test("a discovered device gets no login, and its stored data is not used for the next one")
  func claims() throws {
    let directory = try DeviceDirectory([Device(name("own"), links: [transports.link("loopback:own")])])
    let table = table(directory)
    let link = try transports.link("loopback:port")
    func destination(_ state: DiscoveredDevice.State) throws -> Destination {
      table.discover([
        (DiscoveredDevice(name: try name("pi"), title: nil, link: "loopback:port", state: state), link)
      ])
      return table.destination(of: try name("pi"))
    }
    let first = try destination(.present)
    guard case .device(_, _, isClaimed: true) = first else { return #expect(Bool(false), "\(first)") }
    #expect(try destination(.present) == first)
    #expect(try destination(.away(since: loop.now)) != first)
    #expect(try destination(.present) != first)
    #expect(try table.destination(of: name("own")) == .device(name("own"), links: ["loopback:own"], isClaimed: false))
  }

  @Test("devices that share a link are one destination, under every name")
  func identity() throws {
    let link = try transports.link("loopback:x")
    let directory = try DeviceDirectory(
      [Device(name("a"), links: [link]), Device(name("b"), links: [link])], main: [link])
    let table = table(directory)
    #expect(try table.device(named: name("a")) === table.device(named: name("b")))
    #expect(try device("anything.example", of: table) === table.device(named: name("a")))
  }

  @Test("the authority selects the device, and an unknown name gets 421")
  func authority() throws {
    let directory = try DeviceDirectory([Device(name("a"), links: [transports.link("loopback:a")])])
    let table = table(directory)
    #expect(try device("A.localhost:80", of: table) === table.device(named: name("a")))
    for authority in ["b.localhost", "localhost", "byway.localhost", "a.b.localhost", "a", ""] {
      let error = #expect(throws: BywayError.self) { try device(authority, of: table) }
      #expect(error?.code == .misdirected, "\(authority)")
    }
  }
}

private func device(_ authority: String, of table: DeviceTable) throws(BywayError) -> any Upstream {
  try table.device(for: ExchangeHead(fields: [":authority": authority], isComplete: true))
}

extension DeviceTable {
  /// The names of the open devices of patterns.
  fileprivate var openNames: Set<DeviceName> { Set(made.keys) }
}
