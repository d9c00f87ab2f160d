import Byway
import BywayDevices
import BywayGateway
import Logging
import LoopbackTransport
import Synchronization
import TCPTransport
import TestPeers
import TestTools
import TestWire
import Testing

@testable import BywayProxy

/// The content of the list of devices.
@Suite("Content of the device list", .timeLimit(.minutes(1)), .cleansUp) struct FrontPageTests {
  private static func place(_ authority: String) -> DevicePlace {
    DevicePlace(authority, "http", beneath: ["localhost"])
  }

  private static let steps = FirstSteps(
    [FirstSteps.Step("Do <this>:", command: "byway --name <X>")],
    ports: FirstSteps.Ports(reason: "No <name>.", none: "Plug in.", examination: { "byway doctor \($0)" }) { ports })

  private static let ports = [
    LinkPort(address: "serial:usb:1:2", device: "/dev/ttyUSB0", name: "<script>1</script>"),
    LinkPort(address: "serial:/dev/ttyS0", device: "/dev/ttyS0", unavailableReason: "in use by process 7 (<b>)"),
  ]

  @Test("an empty list says what to do, and for each port why it is not a device and how to examine it, as text")
  func beginning() {
    let place = Self.place("localhost:8080")
    let beginning = Beginning(Self.steps, patterns: ["pi-{name}"], ports: Self.ports, at: place)
    let page = FrontPageText.html(DeviceListing([], at: place, beginning: beginning))
    #expect(page.contains("<code>http://pi-{name}.localhost:8080/</code>"))
    #expect(page.contains("<p>Do &lt;this&gt;:</p>\n<pre>byway --name &lt;X&gt;</pre>"))
    #expect(page.contains("<strong>/dev/ttyUSB0</strong> &lt;script&gt;1&lt;/script&gt;<br>"))
    #expect(
      page.contains("No &lt;name&gt;. To examine it, run <code>byway doctor serial:<wbr>usb:<wbr>1:<wbr>2</code>"))
    #expect(page.contains("It cannot be opened now: in use by process 7 (&lt;b&gt;)."))
    #expect(!page.contains("<script>1") && !page.contains("Plug in."))
  }

  @Test("an empty list without ports says what to plug in, and one of a hub does not mention ports")
  func noPorts() {
    let place = Self.place("localhost")
    let none = Beginning(Self.steps, patterns: [], ports: [], at: place)
    #expect(FrontPageText.html(DeviceListing([], at: place, beginning: none)).contains("<p>Plug in.</p>"))
    let hub = Beginning(FirstSteps(Self.steps.steps, ports: nil), patterns: [], ports: nil, at: place)
    #expect(!FrontPageText.html(DeviceListing([], at: place, beginning: hub)).contains("Ports"))
  }

  @Test("the page of a proxy without devices, and its JSON, list the ports")
  func empty() async throws {
    let house = try await PageHouse { configuration, _, _ in configuration.firstSteps = Self.steps }
    let page = try await house.exchange("GET / HTTP/1.1\r\nHost: localhost:\(house.port)")
    #expect(page.contains("There are no devices yet.") && page.contains("/dev/ttyUSB0"), "\(page)")
    let list = try await house.exchange("GET /devices.json HTTP/1.1\r\nHost: localhost")
    #expect(list.contains(#""ports":[{"address":"serial:usb:1:2","device":"/dev/ttyUSB0""#), "\(list)")
  }

  @Test("the ports are listed once for pages that ask at the same time")
  func look() async {
    let count = Mutex(0)
    let look = PortLook {
      count.withLock { $0 += 1 }
      return Self.ports
    }
    await withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 { group.addTask { await look.ports().count } }
      for await found in group { #expect(found == 2) }
    }
    #expect(count.withLock(\.self) == 1)
  }

  @Test("the list shows which of a device's links is in use, and the title that its gateway reports")
  func linkInUse() async throws {
    let house = try await PageHouse { configuration, link, street in
      let links = try ["\(street)-nobody", street].map(link)
      configuration.devices = try DeviceDirectory([Device(#require(DeviceName("printer")), links: links)])
    }
    let before = try await house.exchange("GET /devices.json HTTP/1.1\r\nHost: localhost")
    #expect(!before.contains("linkInUse") && !before.contains("In the hall"), "\(before)")
    #expect(try await house.exchange("GET / HTTP/1.1\r\nHost: printer.localhost").contains("200"))
    let hasTitle = try await eventually {
      try await house.exchange("GET /devices.json HTTP/1.1\r\nHost: localhost").contains(#""title":"In the <hall>""#)
    }
    #expect(hasTitle)
    let list = try await house.exchange("GET /devices.json HTTP/1.1\r\nHost: localhost")
    #expect(list.contains("\"linkInUse\":\"\(house.street)\""), "\(list)")
    let page = try await house.exchange("GET / HTTP/1.1\r\nHost: localhost")
    #expect(page.contains(">In the &lt;hall&gt;</a> <small>printer</small>"), "\(page)")
    #expect(page.components(separatedBy: "class=\"use\"").count == 2, "\(page)")
    #expect(page.contains(" <small>down</small>"), "\(page)")
  }

  @Test("a configured title takes precedence over the one that the gateway reports")
  func ownTitle() async throws {
    let house = try await PageHouse { configuration, link, street in
      let links = [try link(street)]
      configuration.devices = try DeviceDirectory([
        Device(#require(DeviceName("printer")), title: "Mine", links: links),
        Device(#require(DeviceName("zebra")), links: links),
      ])
    }
    #expect(try await house.exchange("GET / HTTP/1.1\r\nHost: printer.localhost").contains("200"))
    let list = "GET /devices.json HTTP/1.1\r\nHost: localhost"
    #expect(try await eventually { try await house.exchange(list).contains(#""title":"In the <hall>""#) })
    #expect(try await house.exchange(list).contains(#""title":"Mine""#))
  }

  @Test("a proxy with users shows them neither the ports nor the instructions")
  func users() async throws {
    let house = try await PageHouse { configuration, _, _ in
      configuration.firstSteps = Self.steps
      configuration.users = try UserHouse.rules(rights: "alice = *")
    }
    let login = "Authorization: \(UserHouse.basic("alice"))"
    let page = try await house.exchange("GET / HTTP/1.1\r\nHost: localhost\r\n\(login)")
    #expect(page.contains("There are no devices yet.") && !page.contains("tty") && !page.contains("<pre>"), "\(page)")
    let list = try await house.exchange("GET /devices.json HTTP/1.1\r\nHost: localhost\r\n\(login)")
    #expect(list.contains("\"devices\":[]") && !list.contains("tty"), "\(list)")
  }

  @Test(
    "the answer for an unknown name has the URL of the list with the request's port",
    arguments: [
      ("nothing.localhost:8080", "http://byway.localhost:8080 lists"),
      ("nothing.localhost", "http://byway.localhost lists"),
      ("-x.localhost:99", "http://byway.localhost:99 lists"),
    ])
  func urlWithPort(host: String, words: String) async throws {
    let house = try await PageHouse { _, _, _ in }
    let answer = try await house.exchange("GET / HTTP/1.1\r\nHost: \(host)")
    #expect(answer.contains(words), "\(answer)")
  }
}

/// A proxy without devices, and a gateway with a title that it can use.
private struct PageHouse: ServedProxy {
  /// The address of the gateway.
  let street = "loopback:page-\(UInt64.random(in: 0 ... .max))"
  let proxy: Proxy
  private let ending: Ending

  init(_ change: (inout ProxyConfiguration, (String) throws -> Link, _ street: String) throws -> Void) async throws {
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let remains = Remains()
    let transports = TransportRegistry([LoopbackTransport(), TCPTransport()])
    var configuration = ProxyConfiguration(
      devices: try DeviceDirectory([], patterns: [], main: [], suffixes: [], isOpen: true),
      listen: try transports.link("tcp://127.0.0.1:0"))
    configuration.logger = quiet
    configuration.observers = [remains.ledger]
    try change(&configuration, { try transports.link($0) }, street)
    var gateways: [Gateway] = []
    if !configuration.devices.devices.isEmpty {
      var inner = GatewayConfiguration(
        links: [try transports.link(street)], origin: .handler { _ in Response(status: .ok) })
      inner.claim = DeviceClaim(name: DeviceName("other"), title: DeviceText("In the <hall>"))
      inner.logger = quiet
      gateways.append(try await Gateway.start(inner, group: remains.loops.any()))
    }
    proxy = try await Proxy.start(configuration, group: remains.loops)
    ending = Ending(of: proxy, gateways, remains)
  }

  var port: Int { (try? proxy.address.hostPort().port) ?? 0 }
}
