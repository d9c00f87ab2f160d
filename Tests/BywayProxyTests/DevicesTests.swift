import Byway
import BywayDevices
import BywayGateway
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
import UnixTransport

@testable import BywayProxy

/// A printer and a camera, each with its own gateway and link, behind one proxy.
@Suite("Several devices behind a proxy", .timeLimit(.minutes(1)), .cleansUp) struct DevicesTests {
  @Test(
    "the host selects the device in every form of request",
    arguments: [
      ("GET / HTTP/1.1\r\nHost: printer.localhost", "printer"),
      ("GET / HTTP/1.1\r\nHost: CAMERA.LocalHost.", "camera"),
      ("GET / HTTP/1.1\r\nHost: camera.devices.example:99", "camera"),
      ("GET http://printer.localhost/x HTTP/1.1\r\nHost: printer.localhost", "printer"),
      ("GET http://camera.localhost:1234/ HTTP/1.1\r\nHost: printer.localhost", "camera"),
    ])
  func byName(head: String, device: String) async throws {
    let house = try await House()
    #expect(try await house.exchange(head).contains("this is the \(device)"))
  }

  @Test(
    "a request for an unknown device name gets 421 with the most similar name",
    arguments: [
      ("primter.localhost", "Did you mean \"printer\"?"), ("x.printer.localhost", "x.printer"),
      ("-printer.localhost", "-printer"),
      ("evil.example", "does not answer for"),
      ("printer.localhost.evil.example", "does not answer for"), ("nothing.devices.example", "\"nothing\""),
    ])
  func unknown(host: String, words: String) async throws {
    let house = try await House()
    let answer = try await house.exchange("GET / HTTP/1.1\r\nHost: \(host)")
    #expect(answer.hasPrefix("HTTP/1.1 421") || answer.hasPrefix("HTTP/1.1 400"), "\(answer)")
    #expect(answer.contains(words.replacing("\"", with: "\\\"")), "\(answer)")
  }

  @Test("a tunnel to a device's name reaches that device only")
  func tunnel() async throws {
    let house = try await House()
    let client = try await house.tunnel(to: "printer.localhost:80")
    try await client.send("GET / HTTP/1.1\r\nHost: printer.localhost\r\n\r\n")
    #expect(try await client.receive(through: "printer").contains("this is the printer"))
    try await client.send("GET / HTTP/1.1\r\nHost: camera.localhost\r\nConnection: close\r\n\r\n")
    #expect(try await client.receiveToEnd().contains("HTTP/1.1 421"))
  }

  /// Records the clients of requests.
  private final class ClientRecorder: Interceptor {
    let clients = Mutex<[ObjectIdentifier?]>([])

    func intercept(_ request: Request, next: Next) async throws -> Response {
      clients.withLock { $0.append(request.client) }
      return try await next(request)
    }
  }

  @Test("requests in all tunnels of a connection count as its own, and those of another connection do not")
  func clientOfTunnels() async throws {
    let recorder = ClientRecorder()
    let house = try await House(interceptors: [recorder])
    let (one, other) = (try house.http2(), try house.http2())
    for client in [one, one, other] {
      let (body, end) = AsyncStream.makeStream(of: ByteBuffer.self)
      end.yield(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: printer.localhost\r\nConnection: close\r\n\r\n"))
      let tunnel = try await client.execute(House.tunnel(body))
      #expect(String(buffer: try await tunnel.body.collect(upTo: 10_000)).contains("this is the printer"))
      end.finish()
    }
    #expect(try await one.get("http://printer.localhost/").status == .ok)
    let clients = recorder.clients.withLock(\.self)
    #expect(clients.count == 4 && clients[0] != nil && !clients.contains(nil))
    #expect(clients[0] == clients[1] && clients[0] == clients[3] && clients[0] != clients[2])
    await one.shutDown()
    await other.shutDown()
    await house.stop()
  }

  @Test("a client has at most 100 tunnels whose content the proxy serves, and a closed one makes room")
  func tunnelLimit() async throws {
    let house = try await House()
    let (one, other) = (try house.http2(), try house.http2())
    func open(_ client: BywayClient) async throws -> (Response, AsyncStream<ByteBuffer>.Continuation) {
      let (body, end) = AsyncStream.makeStream(of: ByteBuffer.self)
      return (try await client.execute(House.tunnel(body)), end)
    }
    var tunnels: [(Response, AsyncStream<ByteBuffer>.Continuation)] = []
    for _ in 0..<100 { tunnels.append(try await open(one)) }
    #expect(tunnels.allSatisfy { $0.0.status == .ok })
    let refused = try await open(one).0
    #expect(refused.status == .serviceUnavailable)
    #expect(String(buffer: try await refused.body.collect(upTo: 10_000)).contains("100 tunnels"))
    tunnels.append(try await open(other))
    #expect(tunnels[100].0.status == .ok)
    // Without a request, the end of the tunnel's one direction ends the other.
    tunnels[0].1.finish()
    _ = try await tunnels[0].0.body.collect(upTo: 10_000)
    #expect(try await open(one).0.status == .ok)
    for tunnel in tunnels { tunnel.1.finish() }
    await one.shutDown()
    await other.shutDown()
    await house.stop()
  }

  @Test("a request in a tunnel follows the current configuration, also after a reload")
  func tunnelAfterReload() async throws {
    let house = try await House()
    let client = try await house.tunnel(to: "printer.localhost:80")
    var next = house.configuration
    next.devices = try DeviceDirectory([#require(next.devices.devices.last)])
    try await house.proxy.reload(next, within: .seconds(1))
    try await client.send("GET / HTTP/1.1\r\nHost: printer.localhost\r\nConnection: close\r\n\r\n")
    #expect(try await client.receiveToEnd().contains("HTTP/1.1 421"))
  }

  @Test("a suffix added by a reload separates cookies of devices, also on links that stay open")
  func cookiesAfterReload() async throws {
    let house = try await House()
    _ = try await house.exchange("GET / HTTP/1.1\r\nHost: printer.localhost")
    var next = house.configuration
    next.devices = try DeviceDirectory(next.devices.devices, suffixes: ["unrelated.example"])
    try await house.proxy.reload(next, within: .seconds(1))
    let answer = try await house.exchange("GET /cookies HTTP/1.1\r\nHost: printer.unrelated.example")
    #expect(answer.contains("e=5\r\n"), "\(answer)")
  }

  @Test(
    "without a default device, a request without a device name gets the list or 421",
    arguments: [
      ("GET / HTTP/1.1\r\nHost: localhost", "HTTP/1.1 200"),
      ("GET http://other.example/ HTTP/1.1\r\nHost: other.example", "HTTP/1.1 421"),
      ("CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443", "HTTP/1.1 421"),
    ])
  func noDefault(head: String, status: String) async throws {
    let house = try await House()
    #expect(try await house.exchange(head).hasPrefix(status))
  }

  @Test("with a default device, localhost reaches it, and byway.localhost the list of devices")
  func defaultDevice() async throws {
    let house = try await House(hasMain: true)
    #expect(try await house.exchange("GET / HTTP/1.1\r\nHost: localhost").contains("this is the printer"))
    #expect(try await house.exchange("GET / HTTP/1.1\r\nHost: byway.localhost").contains("<h1>Devices</h1>"))
    #expect(
      try await house.exchange("GET / HTTP/1.1\r\nHost: byway.devices.example").contains("camera.devices.example"))
  }

  @Test(
    "on a Unix socket an unknown name reaches the default device, as programs send any name there",
    arguments: [
      ("api.moby.localhost", "this is the printer"), ("d", "this is the printer"),
      ("nothing.localhost", "this is the printer"),
      ("docker", "this is the printer"), ("camera.localhost", "this is the camera"),
      ("my-camera.localhost", "this is the camera"), ("byway.localhost", "<h1>Devices</h1>"),
      ("localhost", "this is the printer"), ("x.devices.example:2375", "this is the printer"),
    ])
  func anyNameOnUnix(_ host: String, _ text: String) async throws {
    let folder = try TemporaryFolder()
    let house = try await House(hasMain: true, socket: folder["s"])
    #expect(try await house.exchange("GET / HTTP/1.1\r\nHost: \(host)").contains(text))
    #expect(try await house.exchange("GET http://nothing.localhost/ HTTP/1.1\r\nHost: x").hasPrefix("HTTP/1.1 421"))
    #expect(try await house.exchange("CONNECT nothing.localhost:80 HTTP/1.1\r\nHost: x").hasPrefix("HTTP/1.1 421"))
  }

  @Test("on a Unix socket an unknown name reaches the only device, and gets 421 if there are several")
  func onlyDevice() async throws {
    let folder = try TemporaryFolder()
    let several = try await House(socket: folder["s"])
    for host in ["d", "api.moby.localhost", "nothing.localhost"] {
      let answer = try await several.exchange("GET /version HTTP/1.1\r\nHost: \(host)")
      #expect(answer.hasPrefix("HTTP/1.1 421") && answer.contains("No device is called"), "\(answer)")
    }
    #expect(try await several.exchange("GET / HTTP/1.1\r\nHost: localhost").contains("<h1>Devices</h1>"))
    #expect(try await several.exchange("GET / HTTP/1.0").contains("<h1>Devices</h1>"))
    var next = several.configuration
    next.devices = try DeviceDirectory([several.configuration.devices.devices[1]])
    try await several.proxy.reload(next, within: .seconds(1))
    for host in ["d", "api.moby.localhost", "nothing.localhost"] {
      #expect(try await several.exchange("GET / HTTP/1.1\r\nHost: \(host)").contains("this is the camera"))
    }
    #expect(try await several.exchange("GET / HTTP/1.1\r\nHost: localhost").contains("<h1>Devices</h1>"))
  }

  @Test("a name set with --name reaches the default device over TCP, and takes precedence over a device's name")
  func ownName() async throws {
    let house = try await House(hasMain: true, names: ["api.moby.localhost", "camera.localhost:9", "x.localhost:80"])
    for (host, text) in [
      ("api.moby.localhost", "this is the printer"), ("api.moby.localhost:2375", "this is the printer"),
      ("camera.localhost:9", "this is the printer"), ("camera.localhost", "this is the camera"),
      ("x.localhost", "this is the printer"), ("x.localhost:81", "HTTP/1.1 421"), ("y.localhost", "HTTP/1.1 421"),
      ("d", "HTTP/1.1 421"),
    ] {
      let answer = try await house.exchange("GET / HTTP/1.1\r\nHost: \(host)")
      #expect(answer.contains(text), "\(host): \(answer)")
    }
    var next = house.configuration
    next.names = ["y.localhost"]
    try await house.proxy.reload(next, within: .seconds(1))
    #expect(try await house.exchange("GET / HTTP/1.1\r\nHost: y.localhost").contains("this is the printer"))
    #expect(try await house.exchange("GET / HTTP/1.1\r\nHost: api.moby.localhost").hasPrefix("HTTP/1.1 421"))
  }

  @Test("a page of one device is a foreign page for another")
  func pages() async throws {
    let house = try await House()
    func asks(from origin: String) async throws -> String {
      try await house.exchange(
        "POST / HTTP/1.1\r\nHost: printer.localhost:\(house.port)\r\nOrigin: \(origin)\r\nContent-Length: 0")
    }
    #expect(try await asks(from: "http://camera.localhost:\(house.port)").hasPrefix("HTTP/1.1 403"))
    #expect(try await asks(from: "http://printer.localhost:\(house.port)").hasPrefix("HTTP/1.1 200"))
  }

  @Test("a cookie for all devices is restricted to the device that set it")
  func cookies() async throws {
    let house = try await House()
    let answer = try await house.exchange("GET /cookies HTTP/1.1\r\nHost: printer.localhost")
    let cookies = answer.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("set-cookie:") }.map {
      String($0.dropFirst("set-cookie: ".count))
    }
    #expect(
      cookies == [
        "a=1; Path=/", "b=2; Path=/", "c=3", "d=4; Domain=printer.localhost", "e=5", "f=6", "g=7", "h=8", "i=9", "j=10",
        "k=11", "l=12",
      ])
  }

  @Test("a device that clears its site data does not clear cookies of other devices")
  func clearing() async throws {
    let house = try await House()
    let answer = try await house.exchange("GET /clear HTTP/1.1\r\nHost: printer.devices.example").lowercased()
    #expect(
      answer.contains("clear-site-data: \"cache\", \"cache\", \"storage\", \"executioncontexts\"\r\n"), "\(answer)")
    // Browsers recognize a type between commas even within quotation marks.
    let quoted = try await house.exchange("GET /clear-quoted HTTP/1.1\r\nHost: printer.devices.example").lowercased()
    #expect(
      quoted.contains("clear-site-data: \"y\", \"cache\", \"storage\", \"executioncontexts\", \"cache\"\r\n"),
      "\(quoted)")
  }

  @Test("the page lists all devices, and escapes their titles")
  func page() async throws {
    let house = try await House(title: "<script>alert(1)</script>\"&")
    let page = try await house.exchange("GET / HTTP/1.1\r\nHost: localhost:\(house.port)")
    #expect(page.contains("href=\"http://camera.localhost:\(house.port)/\""))
    #expect(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&amp;"))
    #expect(!page.contains("<script>alert"))
    #expect(page.lowercased().contains("content-security-policy: default-src 'none'"))
    _ = try await house.exchange("GET / HTTP/1.1\r\nHost: camera.localhost")
    let list = try await house.exchange("GET /devices.json HTTP/1.1\r\nHost: localhost:\(house.port)")
    #expect(list.contains("\"url\":\"http://camera.localhost:\(house.port)/\""))
    #expect(list.contains("\"state\":\"up\"") && list.contains("\"state\":\"idle\""), "\(list)")
    #expect(try await house.exchange("DELETE / HTTP/1.1\r\nHost: localhost").hasPrefix("HTTP/1.1 405"))
    #expect(try await house.exchange("GET /nothing HTTP/1.1\r\nHost: localhost").hasPrefix("HTTP/1.1 404"))
  }

  @Test("the device list shows each link without its options, also in the reason for a failure")
  func links() async throws {
    let transports = TransportRegistry([TCPTransport()])
    let ports = try [Endpoint.freePort(), Endpoint.freePort()]
    let links = try ports.map { try transports.link("tcp://127.0.0.1:\($0)?http=1.1") }
    var configuration = ProxyConfiguration(
      devices: try DeviceDirectory([Device(#require(DeviceName("printer")), links: links)]),
      listen: try transports.link("tcp://127.0.0.1:0"))
    configuration.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    configuration.patience = .zero
    let house = try await House(configuration)
    #expect(try await house.exchange("GET / HTTP/1.1\r\nHost: printer.localhost").hasPrefix("HTTP/1.1 503"))
    let list = try await house.exchange("GET /devices.json HTTP/1.1\r\nHost: localhost:\(house.port)")
    let expected = ports.map { "\"tcp://127.0.0.1:\($0)\"" }.joined(separator: ",")
    #expect(list.contains("\"links\":[\(expected)]") && !list.contains("http=1.1"), "\(list)")
    #expect(list.contains("\"state\":\"down\""), "\(list)")
  }

  @Test("the event stream of the device list reports a device when it comes up, and not before")
  func events() async throws {
    let house = try await House()
    let client = try await house.wire()
    try await client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    let first = try await client.receive(through: "]}\n\n")
    #expect(first.contains("text/event-stream") && !first.contains("\"state\":\"up\""))
    _ = try await house.exchange("GET / HTTP/1.1\r\nHost: camera.localhost")
    // An event that the link opens may come as well.
    var told = ""
    while !told.contains("\"state\":\"up\"") { told = try await client.receive(through: "]}\n\n") }
    let begin = ContinuousClock.now
    await house.proxy.stop(within: .seconds(30))
    #expect(ContinuousClock.now - begin < .seconds(10), "stopping waits for a client that follows events")
    client.close()
  }

  @Test("any name that matches a pattern is a device if its link exists")
  func pattern() async throws {
    let house = try await House()
    #expect(try await house.exchange("GET / HTTP/1.1\r\nHost: my-printer.localhost").contains("this is the printer"))
    #expect(try await house.exchange("GET / HTTP/1.1\r\nHost: my-nothing.localhost").hasPrefix("HTTP/1.1 503"))
    #expect(try await house.exchange("GET / HTTP/1.1\r\nHost: my-.localhost").hasPrefix("HTTP/1.1 421"))
  }

  @Test("a reload removes a device, and keeps the link of another one")
  func reload() async throws {
    let house = try await House()
    _ = try await house.exchange("GET / HTTP/1.1\r\nHost: camera.localhost")
    _ = try await house.exchange("GET / HTTP/1.1\r\nHost: printer.localhost")
    let link = try #require(await house.gateways[1].openLinks().first)
    var next = house.configuration
    let camera = try #require(next.devices.devices.last)
    next.devices = try DeviceDirectory([camera])
    try await house.proxy.reload(next, within: .seconds(1))
    #expect(try await house.exchange("GET / HTTP/1.1\r\nHost: printer.localhost").hasPrefix("HTTP/1.1 421"))
    #expect(try await house.exchange("GET / HTTP/1.1\r\nHost: camera.localhost").contains("this is the camera"))
    #expect(await house.gateways[1].openLinks().map(\.since) == [link.since])
    #expect(try await eventually { await house.gateways[0].openLinks().isEmpty })
  }
}

/// A printer and a camera behind a proxy on TCP, all in one process.
private struct House: ServedProxy {
  let proxy: Proxy
  let gateways: [Gateway]
  let configuration: ProxyConfiguration
  private let ending: Ending

  init(
    hasMain: Bool = false, title: String? = nil, names: [String] = [], socket: String? = nil,
    interceptors: [any Interceptor] = []
  ) async throws {
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let remains = Remains()
    let transports = TransportRegistry([LoopbackTransport(), TCPTransport(), UnixTransport()])
    let street = "house-\(UInt64.random(in: 0 ... .max))"
    var gateways: [Gateway] = []
    var devices: [Device] = []
    for name in ["printer", "camera"] {
      let link = try transports.link("loopback:\(street)-\(name)")
      var configuration = GatewayConfiguration(
        links: [link], origin: .handler { try await Self.respond(to: $0, as: name) })
      configuration.logger = quiet
      gateways.append(try await Gateway.start(configuration, group: remains.loops.any()))
      devices.append(try Device(#require(DeviceName(name)), title: title, links: [link]))
    }
    let pattern = try DevicePattern("my-{name}", links: ["loopback:\(street)-{name}"]) { try transports.link($0) }
    var configuration = ProxyConfiguration(
      devices: try DeviceDirectory(
        devices, patterns: [pattern], main: hasMain ? devices[0].links : [], suffixes: ["devices.example"]),
      listen: try transports.link(socket.map { "unix:\($0)" } ?? "tcp://127.0.0.1:0"))
    configuration.names = names
    configuration.interceptors = interceptors
    configuration.logger = quiet
    configuration.patience = .zero
    configuration.observers = [remains.ledger]
    self.gateways = gateways
    self.configuration = configuration
    proxy = try await Proxy.start(configuration, group: remains.loops)
    ending = Ending(of: proxy, gateways, remains)
  }

  init(_ configuration: ProxyConfiguration) async throws {
    let remains = Remains()
    (self.configuration, gateways) = (configuration, [])
    proxy = try await Proxy.start(configuration, group: remains.loops)
    ending = Ending(of: proxy, [], remains)
  }

  private static func respond(to request: Request, as name: String) async throws -> Response {
    var response = Response(status: .ok, body: Body("this is the \(name)"))
    let cleared = [
      "/clear": #""cache", "cookies", "*""#, "/clear-quoted": #""x, "cookies", "y", "*", "cache", "COOKIES""#,
    ]
    if let kinds = cleared[request.head.path ?? ""] {
      guard let name = HTTPField.Name("Clear-Site-Data") else { return response }
      response.head.headerFields[name] = kinds
    }
    guard request.head.path == "/cookies" else { return response }
    for cookie in [
      "a=1; Domain=localhost; Path=/", "b=2;domain = .LOCALHOST; Path=/", "c=3; Domain=devices.example",
      "d=4; Domain=printer.localhost", "e=5; Domain=unrelated.example", "f=6; Domain=example",
      "g=7; Domain=devices.example.", "h=8; Domain=local\u{AD}host", "i=9; Domain=\u{FF4C}ocalhost",
      "j=10; Domain=%6cocalhost", "k=11; Domain=\"localhost\"", "l=12; Domain=",
    ] {
      response.head.headerFields.append(HTTPField(name: .setCookie, value: cookie))
    }
    return response
  }

  /// Returns a client with one HTTP/2 connection to the proxy.
  func http2() throws -> BywayClient {
    try BywayClient(TransportRegistry([TCPTransport()]).link(proxy.address))
  }

  /// Returns the request for a tunnel to the printer with that content.
  static func tunnel(_ content: AsyncStream<ByteBuffer>) -> Request {
    let head = HTTPRequest(method: .connect, scheme: nil, authority: "printer.localhost:80", path: nil)
    return Request(head, body: Body(content))
  }

  var port: Int { (try? proxy.address.hostPort().port) ?? 0 }

  func stop() async { await ending.run() }
}
