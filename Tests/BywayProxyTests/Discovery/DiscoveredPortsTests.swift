import Byway
import BywayDevices
import NIOCore
import Testing

@testable import BywayProxy

/// Discovered ports in virtual time.
@Suite struct DiscoveredPortsTests {
  private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

  /// Ports and the devices that answer on them.
  private struct Bench {
    /// A bench on which a port has had the name "printer", and has not been plugged in since.
    static func afterName(of port: LinkPort) -> Bench {
      var bench = Bench()
      bench.plug(port, "printer")
      bench.wait(.seconds(30))
      bench.claims = [:]
      return bench
    }

    var ports: DiscoveredPorts
    var now = DiscoveredPortsTests.start
    var plugged: [LinkPort] = []
    /// The descriptions by link address; a missing device does not answer.
    var claims: [String: DeviceClaim] = [:]
    /// All queries in order.
    var asked: [String] = []

    init(reserved: [String] = []) {
      ports = DiscoveredPorts(reserved: Set(reserved.compactMap { DeviceName($0) }))
    }

    mutating func plug(_ port: LinkPort, _ name: String? = nil, title: String? = nil) {
      plugged.append(port)
      if let name {
        claims[port.address] = DeviceClaim(name: DeviceName(name), title: title.flatMap { DeviceText($0) })
      }
      list()
    }

    mutating func unplug(_ device: String) {
      plugged.removeAll { $0.device == device }
      list()
    }

    mutating func list() {
      ports.list(plugged, from: 0, at: now)
      settle()
    }

    /// Answers every query at once.
    mutating func settle() {
      while case let questions = ports.questions(at: now), !questions.isEmpty {
        for question in questions {
          asked.append(question.link)
          ports.take(claims[question.link], to: question, at: now)
        }
      }
    }

    mutating func wait(_ time: TimeAmount) {
      let end = now + time
      while let deadline = ports.deadline, deadline <= end {
        now = max(now, deadline)
        ports.advance(to: now)
        settle()
      }
      now = end
      ports.advance(to: now)
    }

    var names: [String] { ports.devices.map(\.name.text) }
  }

  private func port(_ number: Int, _ name: String? = "FTDI FT232R", unavailableReason: String? = nil) -> LinkPort {
    LinkPort(
      address: "serial:usb:0403:6001:\(number)", device: "/dev/ttyUSB\(number)", name: name,
      unavailableReason: unavailableReason)
  }

  @Test("a discovered device has the name and title that it reports")
  func claimed() {
    var bench = Bench()
    bench.plug(port(0), "printer", title: "In the hall")
    #expect(
      bench.ports.devices == [
        DiscoveredDevice(
          name: DeviceName("printer") ?? .unnamed, title: DeviceText("In the hall"), link: "serial:usb:0403:6001:0",
          state: .present)
      ])
  }

  @Test(
    "if its device does not answer, a port is listed after 1.5 s by its adapter's name", arguments: [true, false])
  func unanswered(_ answersLater: Bool) throws {
    var ports = DiscoveredPorts(reserved: [])
    ports.list([port(0)], from: 0, at: Self.start)
    let question = try #require(ports.questions(at: Self.start).first)
    #expect(ports.devices.isEmpty && ports.questions(at: Self.start).isEmpty)
    #expect(ports.deadline == Self.start + .milliseconds(1500))
    ports.advance(to: Self.start + .milliseconds(1499))
    #expect(ports.devices.isEmpty)
    ports.advance(to: Self.start + .milliseconds(1500))
    #expect(ports.devices.map(\.name.text) == ["ftdi-ft232r"] && ports.devices.first?.title?.text == "FTDI FT232R")
    #expect(ports.devices.map(\.state) == [.present] && ports.deadline == nil)
    ports.take(
      answersLater ? DeviceClaim(name: DeviceName("printer")) : nil, to: question, at: Self.start + .seconds(5))
    #expect(ports.devices.map(\.name.text) == [answersLater ? "printer" : "ftdi-ft232r"])
  }

  @Test("a port that is gone before it is listed is never listed, and a later one gets the same time")
  func shortVisit() throws {
    var ports = DiscoveredPorts(reserved: [])
    ports.list([port(0)], from: 0, at: Self.start)
    _ = ports.questions(at: Self.start)
    ports.list([], from: 0, at: Self.start + .seconds(1))
    ports.advance(to: Self.start + .seconds(10))
    #expect(ports.devices.isEmpty)
    ports.list([port(0)], from: 0, at: Self.start + .seconds(10))
    #expect(ports.devices.isEmpty)
    ports.advance(to: Self.start + .seconds(12))
    #expect(ports.devices.count == 1)
  }

  @Test("a port without an answer is queried twice more, and then no longer")
  func retries() {
    var bench = Bench()
    bench.plug(port(0))
    bench.wait(.hours(1))
    #expect(bench.asked.count == 3 && bench.ports.deadline == nil)
    bench.unplug("/dev/ttyUSB0")
    bench.wait(.seconds(10))
    bench.plug(port(0))
    #expect(bench.asked.count == 4)
  }

  @Test("a gateway that starts after its port appears is named once it answers")
  func late() {
    var bench = Bench()
    bench.plug(port(0))
    #expect(bench.names == ["ftdi-ft232r"])
    bench.claims[port(0).address] = DeviceClaim(name: DeviceName("camera"))
    bench.wait(.seconds(20))
    #expect(bench.names == ["camera"] && bench.asked.count == 2)
  }

  @Test(
    "a device without a name is named after its adapter",
    arguments: [
      ("FTDI FT232R USB UART", "ftdi-ft232r-usb-uart"), ("../../\u{1B}[2J\u{202E}<b>", "2j-b"), ("设备", "ttyusb0"),
      (nil, "ttyusb0"),
      (String(repeating: "x", count: 10_000), String(repeating: "x", count: 63)),
    ] as [(String?, String)])
  func usbStrings(_ strings: String?, _ name: String) {
    var bench = Bench()
    bench.plug(port(0, strings))
    #expect(bench.names == [name])
    for title in bench.ports.devices.compactMap(\.title) { #expect(DeviceText(title.text) == title) }
    bench.claims = [port(0).address: DeviceClaim(name: nil, title: DeviceText("T"))]
    bench.wait(.minutes(1))
    #expect(bench.names == [name] && bench.ports.devices.first?.title?.text == "T")
  }

  @Test("the second of two devices with one name gets a number, and keeps it when the first leaves")
  func same() {
    var bench = Bench()
    for number in 0..<3 { bench.plug(port(number), "printer") }
    #expect(bench.names == ["printer", "printer-2", "printer-3"])
    bench.unplug("/dev/ttyUSB0")
    bench.plug(port(3), "printer")
    #expect(bench.names == ["printer", "printer-2", "printer-3", "printer-4"])
    bench.wait(.minutes(2))
    #expect(bench.names == ["printer-2", "printer-3", "printer-4"])
    bench.plug(port(4), "printer")
    #expect(bench.names == ["printer", "printer-2", "printer-3", "printer-4"])
  }

  @Test("a name reserved in the configuration is not given to a discovered device, also after a reload")
  func reserved() {
    var bench = Bench(reserved: ["printer", "ftdi-ft232r"])
    bench.plug(port(0), "printer")
    #expect(bench.names == ["ftdi-ft232r-2"])
    bench.ports.reserve([])
    #expect(bench.names == ["printer"])
    bench.plug(port(1), "printer")
    bench.ports.reserve(Set(["printer-2"].compactMap { DeviceName($0) }))
    #expect(bench.names == ["printer", "printer-3"])
  }

  @Test("an unplugged device is away for a minute and then removed, and is the same device if it returns before")
  func away() {
    var bench = Bench()
    bench.plug(port(0), "printer")
    bench.wait(.seconds(30))
    bench.unplug("/dev/ttyUSB0")
    #expect(bench.ports.devices.map(\.state) == [.away(since: bench.now)])
    bench.wait(.seconds(59))
    #expect(bench.names == ["printer"])
    bench.claims = [:]
    bench.plug(port(0))
    #expect(bench.ports.devices.map(\.state) == [.present] && bench.names == ["printer"])
    bench.wait(.minutes(5))
    bench.unplug("/dev/ttyUSB0")
    bench.wait(.seconds(60))
    #expect(bench.names == [] && bench.ports.deadline == nil)
  }

  @Test("a device that stays silent does not keep the name of the one that was at its port before")
  func silentSuccessor() {
    var bench = Bench()
    bench.plug(port(0), "printer")
    bench.wait(.seconds(30))
    bench.unplug("/dev/ttyUSB0")
    bench.wait(.seconds(10))
    bench.claims = [:]
    bench.plug(port(0))
    #expect(bench.names == ["printer"], "it may be the same device, which restarts")
    bench.wait(.minutes(2))
    #expect(bench.names == ["ftdi-ft232r"])
    #expect(bench.ports.devices.map(\.state) == [.present] && bench.ports.deadline == nil)
  }

  @Test("an adapter that returns under another system name is queried again, and is the same device")
  func otherFile() {
    var bench = Bench()
    bench.plug(port(0), "printer")
    bench.wait(.seconds(5))
    bench.plugged[0].device = "/dev/ttyUSB7"
    bench.list()
    #expect(bench.names == ["printer"] && bench.asked.count == 2)
  }

  @Test(
    "a different adapter in the same USB port does not inherit the name of the one before", arguments: [true, false])
  func otherAdapter(_ wasAway: Bool) {
    var bench = Bench.afterName(of: LinkPort(address: "serial:/dev/ttyUSB0", device: "/dev/ttyUSB0", name: "FTDI"))
    if wasAway {
      bench.unplug("/dev/ttyUSB0")
      bench.wait(.seconds(10))
    } else {
      bench.plugged = []
    }
    bench.plug(LinkPort(address: "serial:/dev/ttyUSB0", device: "/dev/ttyUSB0", name: "CP2102"))
    #expect(bench.names == ["cp2102"])
  }

  @Test("a different adapter at the same address with another system name does not inherit the old name")
  func otherAdapterElsewhere() {
    var bench = Bench.afterName(of: LinkPort(address: "serial:usb:1", device: "/dev/ttyUSB0", name: "FTDI"))
    bench.plugged = []
    bench.plug(LinkPort(address: "serial:usb:1", device: "/dev/ttyUSB1", name: "FTDI"))
    #expect(bench.names == ["ftdi"])
  }

  @Test("a port whose address changes because a similar adapter appears stays the same device")
  func otherAddress() {
    var bench = Bench()
    bench.plug(LinkPort(address: "serial:usb:0403:6001", device: "/dev/ttyUSB0", name: "FTDI"), "printer")
    bench.plugged[0].address = "serial:/dev/serial/by-path/0"
    bench.plug(LinkPort(address: "serial:/dev/serial/by-path/1", device: "/dev/ttyUSB1", name: "FTDI"), "camera")
    #expect(bench.ports.devices.map(\.link) == ["serial:/dev/serial/by-path/1", "serial:/dev/serial/by-path/0"])
    #expect(bench.names == ["camera", "printer"] && bench.asked.count == 2)
  }

  @Test("a port with a loose contact is queried at most every two seconds")
  func flapping() {
    var bench = Bench()
    for _ in 0..<100 {
      bench.plug(port(0), "printer")
      bench.wait(.milliseconds(50))
      bench.unplug("/dev/ttyUSB0")
      bench.wait(.milliseconds(50))
    }
    #expect((1...6).contains(bench.asked.count) && bench.names == ["printer"])
    bench.plug(port(0), "printer")
    bench.wait(.seconds(5))
    #expect(bench.ports.devices.map(\.state) == [.present] && bench.ports.deadline == nil)
  }

  @Test("an answer that arrives after its port has disappeared is ignored")
  func lateAnswer() throws {
    var ports = DiscoveredPorts(reserved: [])
    ports.list([port(0)], from: 0, at: Self.start)
    let question = try #require(ports.questions(at: Self.start).first)
    ports.list([], from: 0, at: Self.start + .seconds(1))
    ports.list([port(0)], from: 0, at: Self.start + .seconds(3))
    // Only one query uses a port at a time.
    #expect(ports.questions(at: Self.start + .seconds(3)).isEmpty)
    ports.take(DeviceClaim(name: DeviceName("ghost")), to: question, at: Self.start + .seconds(4))
    #expect(ports.devices.isEmpty)
    let again = try #require(ports.questions(at: Self.start + .seconds(4)).first)
    ports.take(DeviceClaim(name: DeviceName("printer")), to: again, at: Self.start + .seconds(4))
    #expect(ports.devices.map(\.name.text) == ["printer"])
  }

  @Test("a port in use by another program is not queried until it is free")
  func unavailable() {
    var bench = Bench()
    bench.plug(port(0, unavailableReason: "in use by process 4711 (picocom)"))
    #expect(bench.asked.isEmpty && bench.names == ["ftdi-ft232r"])
    #expect(bench.ports.devices.map(\.state) == [.unavailable("in use by process 4711 (picocom)")])
    bench.plugged[0].unavailableReason = nil
    bench.claims[port(0).address] = DeviceClaim(name: DeviceName("printer"))
    bench.list()
    #expect(bench.names == ["printer"] && bench.ports.devices.map(\.state) == [.present])
    bench.plugged[0].unavailableReason = "only group dialout may open it"
    bench.list()
    #expect(bench.ports.devices.map(\.state) == [.unavailable("only group dialout may open it")])
    #expect(bench.names == ["printer"] && bench.asked.count == 1)
  }

  @Test("a hundred ports are queried eight at a time, and all get names")
  func hundred() {
    var ports = DiscoveredPorts(reserved: [])
    ports.list((0..<100).map { port($0) }, from: 0, at: Self.start)
    var waiting: [DiscoveredPorts.Question] = ports.questions(at: Self.start)
    var most = 0
    while !waiting.isEmpty {
      most = max(most, waiting.count)
      ports.take(DeviceClaim(name: DeviceName("board")), to: waiting.removeFirst(), at: Self.start)
      waiting += ports.questions(at: Self.start)
    }
    #expect(most == 8 && ports.deadline == nil)
    #expect(Set(ports.devices.map(\.name)).count == 100 && ports.devices.allSatisfy { $0.name.text.hasPrefix("board") })
  }

  @Test("the number of listed ports is limited")
  func bounded() {
    var ports = DiscoveredPorts(reserved: [])
    ports.list((0..<10_000).map { port($0, unavailableReason: "busy") }, from: 0, at: Self.start)
    #expect(ports.devices.count == 256)
  }

  @Test("a device listed by two sources appears once")
  func twoSources() {
    var ports = DiscoveredPorts(reserved: [])
    ports.list([port(0, unavailableReason: "busy")], from: 0, at: Self.start)
    let link = LinkPort(address: "serial:/links/a", device: "/dev/ttyUSB0", name: "a", unavailableReason: "busy")
    ports.list([link], from: 1, at: Self.start)
    #expect(ports.devices.map(\.link) == [port(0).address])
    ports.list([], from: 0, at: Self.start)
    ports.list([link], from: 1, at: Self.start)
    #expect(ports.devices.count == 2)
  }

  @Test("random events keep names unique, cause no crash, and end in a stable state")
  func anything() {
    var generator = SystemRandomNumberGenerator()
    let names = ["printer", "printer-2", "byway", "", "設", "xn--a", "FTDI  x"]
    for _ in 0..<50 {
      var bench = Bench(reserved: ["byway", "printer-2"])
      for _ in 0..<100 {
        let number = Int.random(in: 0..<6, using: &generator)
        let name = names.randomElement(using: &generator) ?? ""
        switch Int.random(in: 0..<5, using: &generator) {
        case 0 where !bench.plugged.contains { $0.device == port(number).device }: bench.plug(port(number, name), name)
        case 1: bench.unplug("/dev/ttyUSB\(number)")
        case 2:
          for index in bench.plugged.indices { bench.plugged[index].unavailableReason = Bool.random() ? "busy" : nil }
        case 3: bench.list()
        default: bench.wait(.milliseconds(.random(in: 0..<70_000, using: &generator)))
        }
        let taken = bench.names
        #expect(Set(taken).count == taken.count && !taken.contains("byway") && !taken.contains("printer-2"))
      }
      bench.wait(.minutes(5))
      #expect(bench.ports.deadline == nil)
    }
  }
}
