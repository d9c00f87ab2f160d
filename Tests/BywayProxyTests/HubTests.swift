import Byway
import BywayDevices
import BywayGateway
import Foundation
import HTTPTypes
import Logging
import LoopbackTransport
import NIOCore
import Synchronization
import TCPTransport
import TestPeers
import TestTools
import TestWire
import Testing

@testable import BywayProxy

/// Gateways that dial a proxy without being configured there.
@Suite("Hub for dialing devices", .timeLimit(.minutes(1)), .cleansUp) struct HubTests {
  let transports = TransportRegistry([LoopbackTransport(), TCPTransport(), TLSTransport()])
  let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  func proxy(
    hubs: [String], devices: [Device] = [], sharing: GatewaySharing = .newest,
    mostDialed: Int = DeviceDirectory.usualDialed, perPeer: Int = .max, patience: Duration = .seconds(1)
  ) throws -> ProxyConfiguration {
    var configuration = ProxyConfiguration(
      devices: try DeviceDirectory(
        devices, patterns: [], main: [], suffixes: ["devices.example"], isOpen: false,
        hubs: hubs.map { try transports.hub(LinkAddress($0)) }, sharing: sharing, mostDialed: mostDialed,
        mostDialedByPeer: perPeer),
      listen: try transports.link("tcp://127.0.0.1:0"))
    configuration.logger = quiet
    configuration.patience = patience
    return configuration
  }

  func gateway(
    _ name: String, at link: String, title: String? = nil, says text: String? = nil, logger: Logger? = nil
  ) async throws -> Gateway {
    var configuration = GatewayConfiguration(
      links: [try transports.link(link)],
      origin: .handler { _ in Response(status: .ok, body: Body("the \(text ?? name)")) })
    configuration.claim = DeviceClaim(name: DeviceName(name), title: title.flatMap { DeviceText($0) })
    configuration.logger = logger ?? quiet
    let gateway = try await Gateway.start(configuration)
    _ = Ending { await gateway.stop(within: .zero) }
    return gateway
  }

  func start(_ configuration: ProxyConfiguration) async throws -> Proxy {
    let proxy = try await Proxy.start(configuration)
    _ = Ending { await proxy.stop(within: .zero) }
    return proxy
  }

  func get(_ name: String, of proxy: Proxy, path: String = "/") async throws -> String {
    let client = BywayClient(try transports.link("\(proxy.address)?http=1.1"))
    let response = try await client.get("http://\(name).localhost\(path)")
    let text = "\(response.status.code) \(String(buffer: try await response.body.collect(upTo: 1 << 16)))"
    await client.shutDown()
    return text
  }

  @Test("a gateway that dials the hub is a device under the name and title it reports, while connected")
  func comingAndGoing() async throws {
    let hub = "loopback:hub-\(UInt64.random(in: 0 ... .max))"
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen"]))
    #expect(try await get("printer", of: proxy).hasPrefix("421"))
    _ = try await gateway("printer", at: "\(hub)?open=dial", title: "In the hall")
    let camera = try await gateway("camera", at: "\(hub)?open=dial")
    for name in ["printer", "camera"] {
      #expect(try await eventually { try await get(name, of: proxy) == "200 the \(name)" })
    }
    let list = await proxy.devices()
    #expect(list.map(\.name?.text) == ["camera", "printer"] && list.map(\.title) == [nil, "In the hall"])
    // The title is that of the gateway that serves.
    let rival = try await gateway("printer", at: "\(hub)?open=dial", title: "Not in the hall", says: "rival")
    #expect(try await eventually { try await get("printer", of: proxy) == "200 the rival" })
    #expect(await proxy.devices().map(\.title) == [nil, "Not in the hall"])
    await rival.stop(within: .zero)
    #expect(try await eventually { try await get("printer", of: proxy) == "200 the printer" })
    #expect(await proxy.devices().map(\.title) == [nil, "In the hall"])
    await camera.stop(within: .zero)
    #expect(try await eventually { try await get("camera", of: proxy).hasPrefix("503") })
    #expect(try await get("printer", of: proxy) == "200 the printer")
    _ = try await gateway("camera", at: "\(hub)?open=dial")
    #expect(try await eventually { try await get("camera", of: proxy) == "200 the camera" })
  }

  @Test("a dialing gateway cannot take a name reserved in the configuration")
  func configured() async throws {
    let hub = "loopback:hub-\(UInt64.random(in: 0 ... .max))"
    let own = try await gateway("printer", at: "\(hub)-own")
    let device = try Device(#require(DeviceName("printer")), links: [transports.link("\(hub)-own")])
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen"], devices: [device]))
    _ = try await gateway("printer", at: "\(hub)?open=dial")
    _ = try await gateway("camera", at: "\(hub)?open=dial")
    #expect(try await eventually { try await get("camera", of: proxy) == "200 the camera" })
    #expect(try await get("printer", of: proxy) == "200 the printer")
    #expect(await own.openLinks().count == 1)
    #expect(await proxy.devices().map(\.name?.text) == ["printer", "camera"])
  }

  @Test("a reload can remove a hub together with its devices")
  func reload() async throws {
    let hub = "loopback:hub-\(UInt64.random(in: 0 ... .max))"
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen"]))
    let printer = try await gateway("printer", at: "\(hub)?open=dial")
    #expect(try await eventually { try await get("printer", of: proxy) == "200 the printer" })
    let link = await printer.openLinks().first?.since
    try await proxy.reload(self.proxy(hubs: ["\(hub)?open=listen", "\(hub)-2?open=listen"]), within: .seconds(1))
    #expect(try await get("printer", of: proxy) == "200 the printer")
    #expect(await printer.openLinks().first?.since == link)
    try await proxy.reload(self.proxy(hubs: ["\(hub)-2?open=listen"]), within: .seconds(1))
    try await proxy.reload(self.proxy(hubs: [], devices: [device("other")]), within: .seconds(1))
    #expect(try await get("printer", of: proxy).hasPrefix("421"))
    #expect(try await eventually { await printer.openLinks().isEmpty })
  }

  /// An interceptor that records the destination of each request.
  private final class Notes: Interceptor {
    let destinations = Mutex<[Destination]>([])

    func intercept(_ request: Request, next: Next) async throws -> Response {
      let destination = next.destination(of: request)
      destinations.withLock { $0.append(destination) }
      return try await next(request)
    }
  }

  @Test("every new connection under a device's name has its own identity for stored data")
  func identity() async throws {
    let hub = "loopback:hub-\(UInt64.random(in: 0 ... .max))"
    var configuration = try proxy(hubs: ["\(hub)?open=listen"])
    let notes = Notes()
    configuration.interceptors = [notes]
    let proxy = try await Proxy.start(configuration)
    func last(_ text: String) async throws -> Destination? {
      #expect(try await eventually { try await get("printer", of: proxy) == text })
      return notes.destinations.withLock(\.last)
    }
    _ = try await gateway("printer", at: "\(hub)?open=dial")
    let first = try await last("200 the printer")
    #expect(try await last("200 the printer") == first)
    let thief = try await gateway("printer", at: "\(hub)?open=dial", says: "stolen")
    let second = try await last("200 the stolen")
    await thief.stop(within: .zero)
    let third = try await last("200 the printer")
    #expect(Set([first, second, third]).count == 3)
  }

  func device(_ name: String) throws -> Device {
    try Device(#require(DeviceName(name)), links: [transports.link("loopback:nobody-\(name)")])
  }

  @Test("a new device gets the slot of a disconnected one if the hub is full, and not that of a connected one")
  func full() async throws {
    let hub = "loopback:hub-\(UInt64.random(in: 0 ... .max))"
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen"], mostDialed: 2))
    _ = try await gateway("printer", at: "\(hub)?open=dial")
    let camera = try await gateway("camera", at: "\(hub)?open=dial")
    for name in ["printer", "camera"] {
      #expect(try await eventually { try await get(name, of: proxy) == "200 the \(name)" })
    }
    _ = try await gateway("scanner", at: "\(hub)?open=dial")
    #expect(try await get("scanner", of: proxy).hasPrefix("421"))
    await camera.stop(within: .zero)
    #expect(try await eventually { try await get("scanner", of: proxy) == "200 the scanner" })
    #expect(try await get("printer", of: proxy) == "200 the printer")
    #expect(try await get("camera", of: proxy).hasPrefix("421"))
  }

  @Test("the gateways of one address are limited in their number of names, and leave slots to other addresses")
  func perPeer() async throws {
    let port = try Endpoint.freePort()
    let hub = "tcp://127.0.0.1:\(port)"
    let local = "loopback:hub-\(UInt64.random(in: 0 ... .max))"
    let proxy = try await start(
      proxy(hubs: ["\(hub)?open=listen", "\(local)?open=listen"], mostDialed: 3, perPeer: 2))
    var gateways: [Gateway] = []
    for name in ["printer", "camera"] {
      gateways.append(try await gateway(name, at: "\(hub)?open=dial"))
      #expect(try await eventually { try await get(name, of: proxy) == "200 the \(name)" })
    }
    gateways.append(try await gateway("scanner", at: "\(hub)?open=dial"))
    // Another peer, and a name that the first has already.
    gateways.append(try await gateway("plotter", at: "\(local)?open=dial"))
    #expect(try await eventually { try await get("plotter", of: proxy) == "200 the plotter" })
    gateways.append(try await gateway("camera", at: "\(hub)?open=dial", says: "second camera"))
    #expect(try await eventually { try await get("camera", of: proxy) == "200 the second camera" })
    #expect(try await get("scanner", of: proxy).hasPrefix("421"))
    // A disconnected name of that peer frees its slot.
    await gateways[0].stop(within: .zero)
    #expect(try await eventually { try await get("scanner", of: proxy) == "200 the scanner" })
    #expect(try await get("printer", of: proxy).hasPrefix("421"))
    #expect(try await get("plotter", of: proxy) == "200 the plotter")
    await proxy.stop(within: .zero)
    for gateway in gateways.dropFirst() { await gateway.stop(within: .zero) }
  }

  @Test("a name that the configuration takes over no longer counts toward its address, and a reload changes the limit")
  func countedNames() async throws {
    let hub = "loopback:hub-\(UInt64.random(in: 0 ... .max))"
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen"], perPeer: 2))
    var gateways: [Gateway] = []
    for name in ["printer", "camera"] {
      gateways.append(try await gateway(name, at: "\(hub)?open=dial"))
      #expect(try await eventually { try await get(name, of: proxy) == "200 the \(name)" })
    }
    gateways.append(try await gateway("scanner", at: "\(hub)?open=dial"))
    let configured = try device("printer")
    try await proxy.reload(
      self.proxy(hubs: ["\(hub)?open=listen"], devices: [configured], perPeer: 2), within: .seconds(1))
    #expect(try await eventually { try await get("scanner", of: proxy) == "200 the scanner" })
    #expect(try await get("camera", of: proxy) == "200 the camera")
    gateways.append(try await gateway("plotter", at: "\(hub)?open=dial"))
    try await proxy.reload(
      self.proxy(hubs: ["\(hub)?open=listen"], devices: [configured], perPeer: 3), within: .seconds(1))
    #expect(try await eventually { try await get("plotter", of: proxy) == "200 the plotter" })
    await proxy.stop(within: .zero)
    for gateway in gateways { await gateway.stop(within: .zero) }
  }

  @Test("a stopped proxy closes at once the connections whose peers have not sent their name")
  func unnamed() async throws {
    let port = try Endpoint.freePort()
    let proxy = try await start(proxy(hubs: ["tcp://127.0.0.1:\(port)?open=listen"]))
    let silent = try await WireEnd.connect(
      to: SocketAddress(ipAddress: "127.0.0.1", port: port), on: TestLoops.next())
    _ = try await silent.receive(through: "SM\r\n\r\n")
    let begin = ContinuousClock.now
    await proxy.stop(within: .zero)
    _ = try await silent.receiveToEnd()
    // The peer would have five seconds for its answer.
    #expect(ContinuousClock.now - begin < .seconds(4))
    silent.close()
  }

  @Test("a reload that removes one hub removes its devices, and applies new settings to those of other hubs")
  func oneOfTwo() async throws {
    let hub = "loopback:hub-\(UInt64.random(in: 0 ... .max))"
    let hubs = ["\(hub)-1?open=listen", "\(hub)-2?open=listen"]
    let proxy = try await start(proxy(hubs: hubs, patience: .seconds(300)))
    _ = try await gateway("printer", at: "\(hub)-1?open=dial")
    let camera = try await gateway("camera", at: "\(hub)-2?open=dial")
    for name in ["printer", "camera"] {
      #expect(try await eventually { try await get(name, of: proxy) == "200 the \(name)" })
    }
    try await proxy.reload(self.proxy(hubs: [hubs[1]], patience: .milliseconds(100)), within: .seconds(1))
    #expect(try await get("printer", of: proxy).hasPrefix("421"))
    #expect(try await get("camera", of: proxy) == "200 the camera")
    await camera.stop(within: .zero)
    let answer = try await get("camera", of: proxy)
    #expect(answer.hasPrefix("503"))
  }

  @Test("a reload reads the hub's files again, and an authority that is no longer trusted admits no device")
  func renewed() async throws {
    let (old, new) = try await (Certificates(), Certificates())
    let folder = try TemporaryFolder()
    func install(_ authority: Certificates) throws {
      try folder.write(String(contentsOfFile: authority.authority, encoding: .utf8), to: "ca.pem")
    }
    try install(old)
    let port = try Endpoint.freePort()
    let hub = "tls://127.0.0.1:\(port)?\(old.server.options)&ca=\(folder["ca.pem"])"
    let proxy = try await start(proxy(hubs: ["\(hub)&open=listen"]))
    func dial(_ name: String, by authority: Certificates) async throws -> Gateway {
      let identity = try await authority.issue(name, names: "DNS:\(name)")
      let link = "tls://127.0.0.1:\(port)?\(identity.options)&ca=\(old.authority)&open=dial"
      return try await gateway(name, at: link)
    }
    _ = try await dial("printer", by: old)
    #expect(try await eventually { try await get("printer", of: proxy) == "200 the printer" })
    try install(new)
    try await proxy.reload(self.proxy(hubs: ["\(hub)&open=listen"]), within: .seconds(1))
    _ = try await dial("camera", by: new)
    _ = try await dial("scanner", by: old)
    #expect(try await eventually { try await get("camera", of: proxy) == "200 the camera" })
    #expect(try await get("scanner", of: proxy).hasPrefix("421"))
  }

  @Test("over TLS, a device's name must be in its certificate")
  func certificates() async throws {
    let certificates = try await Certificates()
    let port = try Endpoint.freePort()
    let hub = "tls://127.0.0.1:\(port)?\(certificates.server.options)&ca=\(certificates.authority)"
    let proxy = try await start(proxy(hubs: ["\(hub)&open=listen"]))
    func dial(_ name: String, certified: String) async throws -> Gateway {
      let identity = try await certificates.issue("\(name)-\(certified)", names: "DNS:\(certified)")
      let link = "tls://127.0.0.1:\(port)?\(identity.options)&ca=\(certificates.authority)"
      return try await gateway(name, at: "\(link)&open=dial")
    }
    _ = try await dial("camera", certified: "printer")
    _ = try await dial("printer", certified: "printer")
    _ = try await dial("scanner", certified: "scanner.devices.example")
    for name in ["printer", "scanner"] {
      #expect(try await eventually { try await get(name, of: proxy) == "200 the \(name)" })
    }
    #expect(try await get("camera", of: proxy).hasPrefix("421"))
  }

  @Test("a certified device takes precedence over an uncertified one of the same name at another hub")
  func mixedHubs() async throws {
    let certificates = try await Certificates()
    let (secret, plain) = (try Endpoint.freePort(), "loopback:hub-\(UInt64.random(in: 0 ... .max))")
    let options = "\(certificates.server.options)&ca=\(certificates.authority)"
    let proxy = try await start(
      proxy(hubs: ["tls://127.0.0.1:\(secret)?\(options)&open=listen", "\(plain)?open=listen"]))
    func certified() async throws -> Gateway {
      let identity = try await certificates.issue("printer", names: "DNS:printer")
      return try await gateway(
        "printer", at: "tls://127.0.0.1:\(secret)?\(identity.options)&ca=\(certificates.authority)&open=dial",
        says: "true one")
    }
    _ = try await gateway("printer", at: "\(plain)?open=dial", says: "liar")
    #expect(try await eventually { try await get("printer", of: proxy) == "200 the liar" })
    _ = try await certified()
    #expect(try await eventually { try await get("printer", of: proxy) == "200 the true one" })
    _ = try await gateway("printer", at: "\(plain)?open=dial", says: "liar")
    // A later gateway at the same hub is queried later.
    _ = try await gateway("camera", at: "\(plain)?open=dial")
    #expect(try await eventually { try await get("camera", of: proxy) == "200 the camera" })
    #expect(try await get("printer", of: proxy) == "200 the true one")
  }

  @Test(
    "a certificate for a name with the same prefix or suffix does not match the device's name",
    arguments: [
      "camera.elsewhere", "camera.devices.example.elsewhere", "xcamera.devices.example", "x.camera.devices.example",
      "devices.example",
    ])
  func similarNames(_ certified: String) async throws {
    let certificates = try await Certificates()
    let port = try Endpoint.freePort()
    let hub = "tls://127.0.0.1:\(port)?\(certificates.server.options)&ca=\(certificates.authority)"
    let logged = LogRecord()
    var configuration = try proxy(hubs: ["\(hub)&open=listen"])
    configuration.logger = logged.logger
    let proxy = try await Proxy.start(configuration)
    let identity = try await certificates.issue("liar", names: "DNS:\(certified)")
    let link = "tls://127.0.0.1:\(port)?\(identity.options)&ca=\(certificates.authority)&open=dial"
    _ = try await gateway("camera", at: link)
    #expect(
      try await eventually {
        logged.messages.contains("Refused gateway: claims 'camera', its certificate is for '\(certified)'.")
      })
    #expect(try await get("camera", of: proxy).hasPrefix("421"))
  }

  @Test("a refused gateway logs the reason of the hub", arguments: [true, false])
  func refused(isCertified: Bool) async throws {
    let certificates = try await Certificates()
    let port = try Endpoint.freePort()
    let hub = "tls://127.0.0.1:\(port)?\(certificates.server.options)&ca=\(certificates.authority)"
    _ = try await start(try proxy(hubs: ["\(hub)&open=listen"]))
    let identity = try await certificates.issue("liar", names: isCertified ? "DNS:other" : "IP:127.0.0.1")
    let logged = LogRecord()
    let link = "tls://127.0.0.1:\(port)?\(identity.options)&ca=\(certificates.authority)&open=dial"
    _ = try await gateway("camera", at: link, logger: logged.logger)
    let reason = "Link refused: claims 'camera', its certificate is for \(isCertified ? "'other'" : "no name")"
    #expect(try await eventually { logged.all.contains("warning \(reason) link=\(link)") }, "\(logged.all)")
    #expect(!logged.all.contains { $0.hasPrefix("warning") && !$0.contains(reason) }, "\(logged.all)")
  }

  @Test("if a hub stops, its gateways log no reason")
  func stopped() async throws {
    let port = try Endpoint.freePort()
    let proxy = try await start(try proxy(hubs: ["tcp://127.0.0.1:\(port)?open=listen"]))
    let logged = LogRecord()
    _ = try await gateway("printer", at: "tcp://127.0.0.1:\(port)?open=dial", logger: logged.logger)
    #expect(try await eventually { try await get("printer", of: proxy) == "200 the printer" })
    await proxy.stop(within: .zero)
    #expect(try await eventually { logged.messages.contains { $0.hasPrefix("Link ") && !$0.hasPrefix("Link open") } })
    #expect(!logged.messages.contains { $0.contains("the hub") || $0.contains("closes the link") }, "\(logged.all)")
  }
}
