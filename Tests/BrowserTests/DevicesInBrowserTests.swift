import Byway
import BywayDevices
import BywayGateway
import BywayLineDevices
import BywayLineEmulation
import BywayProxy
import Foundation
import HTTPTypes
import Logging
import NIOCore
import SerialTransport
import Synchronization
import TCPTransport
import TestTools
import Testing
import UnixTransport

/// Several devices behind one proxy, seen in a browser.
@Suite("Device list in a browser", .serialized, .timeLimit(.minutes(2))) struct DevicesInBrowserTests {
  @Test("the browser shows two devices' pages side by side, and they cannot read each other")
  func apart() async throws {
    let house = try await House(["printer", "camera"])
    let browser = try await Chromium()
    async let printing = browser.open(house.url("printer"))
    async let filming = browser.open(house.url("camera"))
    let (printer, camera) = try await (printing, filming)
    #expect(try await printer.evaluate("document.body.innerText") == "This is the printer.")
    #expect(try await camera.evaluate("document.body.innerText") == "This is the camera.")

    // Cookies for all of localhost: one set by the server, one by a script.
    _ = try await printer.evaluate("document.cookie = 'script=1; domain=localhost'")
    _ = try await printer.evaluate("document.cookie = 'own=1'")
    #expect(Set(try await printer.evaluate("document.cookie").split(separator: "; ")) == ["server=printer", "own=1"])
    #expect(try await camera.evaluate("document.cookie") == "server=camera")
    _ = try await camera.evaluate("fetch('/cookies')")
    #expect(house.requests.last == "camera /cookies server=camera")

    // Requests by a script, in every way that scripts have.
    let other = house.url("camera")
    for attempt in [
      "fetch('\(other)secret')", "fetch('\(other)secret', { mode: 'no-cors', method: 'POST' })",
      "new Promise((done) => { const image = new Image(); image.onerror = done; image.src = '\(other)secret' })",
      "new Promise((done) => { const socket = new WebSocket('\(other)secret'); socket.onerror = done })",
      "new Promise((done) => { const script = document.createElement('script'); script.onerror = done; "
        + "script.src = '\(other)secret'; document.head.append(script) })",
    ] {
      _ = try await printer.evaluate("\(attempt).catch(() => 0)")
    }
    let frame = """
      new Promise((done) => { const frame = document.createElement('iframe'); frame.onload = () => { try { done(frame.contentDocument\
      .body.innerText) } catch (error) { done('refused') } }; frame.src = '\(other)secret'; document.body.append(frame) })
      """
    #expect(["refused", "null"].contains(try await printer.evaluate("\(frame).catch(() => 'refused')")))
    #expect(house.requests.filter { $0.hasPrefix("camera /secret") } == [], "\(house.requests)")
    await browser.stop()
    await house.stop()
  }

  @Test("the device list updates without a reload when devices are plugged in, unplugged and removed")
  func list() async throws {
    let house = try await House(["printer", "camera"])
    let browser = try await Chromium()
    let page = try await browser.open("http://localhost:\(house.port)/")
    let names = "[...document.querySelectorAll('tbody a')].map((link) => link.textContent).join()"
    #expect(try await page.evaluate(names) == "The printer,The camera")
    #expect(
      try await page.evaluate("(window.mark = 1, document.querySelector('tbody a').href)") == house.url("printer"))
    let adapter = try await house.plugInScanner()
    #expect(try await eventually { try await page.evaluate(names) == "The printer,The camera,The scanner" })
    _ = try await browser.open(house.url("scanner"))
    let state = "document.querySelectorAll('tbody tr')[2].dataset.state"
    #expect(try await eventually { try await page.evaluate(state) == "up" })
    try await page.photograph(to: Screenshots.path("devices"))
    adapter.line.cut(.hangUp, at: .b)
    #expect(try await eventually { try await page.evaluate(state) == "away" })
    adapter.line.restore()
    let isBack = try await eventually { ["up", "idle"].contains(try await page.evaluate(state)) }
    let row = try await page.evaluate("document.querySelectorAll('tbody tr')[2].outerHTML")
    #expect(isBack, "\(row)")
    try await house.reload(["printer"])
    #expect(try await eventually { try await page.evaluate(names) == "The printer,The scanner" })
    #expect(try await page.evaluate("window.mark") == "1")
    await browser.stop()
    await house.stop()
    await adapter.gateway.stop(within: .zero)
    adapter.line.close()
  }
}

/// The list of devices in a browser, without gateways.
@Suite("Search and layout of the device list", .serialized, .timeLimit(.minutes(2)))
struct DeviceListInBrowserTests {
  private static let shown = "[...document.querySelectorAll('tbody tr')].filter((row) => row.checkVisibility())"

  private static func proxy(_ devices: [Device], firstSteps: FirstSteps? = nil) async throws -> Proxy {
    let transports = TransportRegistry([TCPTransport()])
    var configuration = ProxyConfiguration(
      devices: try DeviceDirectory(devices, patterns: [], main: [], suffixes: [], isOpen: true),
      listen: try transports.link("tcp://127.0.0.1:0"))
    configuration.firstSteps = firstSteps
    configuration.logger = .quiet
    return try await Proxy.start(configuration)
  }

  private static func url(_ proxy: Proxy) throws -> String {
    "http://localhost:\(try proxy.address.hostPort().port ?? 0)/"
  }

  private static func fill(_ id: String, _ value: String) -> String {
    "(() => { const input = document.querySelector('#\(id)'); input.value = '\(value)'; "
      + "input.dispatchEvent(new Event('input', { bubbles: true })) })()"
  }

  @Test("the list of 1,000 devices is searched by name, title, link and state, and keeps the search after a change")
  func search() async throws {
    let transports = TransportRegistry([UnixTransport()])
    let devices = try (0..<1000).map { number in
      try Device(
        #require(DeviceName("rack\(number / 100)-unit\(number % 100)")),
        title: number == 7 ? "Hall <b>printer</b>" : nil,
        links: [transports.link("unix:/nowhere/socket\(number)")])
    }
    let proxy = try await Self.proxy(devices)
    let browser = try await Chromium()
    let page = try await browser.open(Self.url(proxy))
    let count = "\(Self.shown).length"
    #expect(try await page.evaluate(count) == "1000")
    #expect(try await page.evaluate("document.querySelector('#find').checkVisibility()") == "true")
    let found = "document.querySelector('#found').textContent"
    for (words, number) in [
      ("RACK3-", "100"), ("rack3-unit1 -unit12", "10"), ("hall printer", "1"), ("/nowhere/socket999", "1"),
      ("-rack", "0"),
      ("  -  ", "1000"),
    ] {
      _ = try await page.evaluate(Self.fill("find", words))
      #expect(try await page.evaluate(count) == number, "\(words)")
      let said = number == "0" ? "No device matches." : number == "1000" ? "" : "\(number) of 1000 devices"
      #expect(try await page.evaluate(found) == said)
    }
    let states = "[...document.querySelector('#state').options].map(({ text }) => text).join()"
    #expect(try await page.evaluate(states) == "any,not used yet")
    // A device that the search does not show changes, and then it is searched.
    let row = "[...document.querySelectorAll('tbody tr')][5]"
    _ = try await page.evaluate("(window.old = \(row), window.same = \(row).nextElementSibling)")
    _ = try await page.evaluate(Self.fill("find", "rack9-"))
    let client = try BywayClient(TransportRegistry([TCPTransport()]).link(proxy.address))
    _ = try? await client.execute(Request(url: "http://rack0-unit5.localhost/"))
    await client.shutDown()
    #expect(try await eventually { try await page.evaluate(states) == "any,down,not used yet" })
    #expect(try await page.evaluate(count) == "100")
    #expect(
      try await page.evaluate("window.old.isConnected + ' ' + (\(row).nextElementSibling === window.same)")
        == "false true")
    _ = try await page.evaluate(Self.fill("find", "unit5"))
    #expect(try await page.evaluate(count) == "110")
    _ = try await page.evaluate(Self.fill("state", "down"))
    #expect(
      try await page.evaluate("\(Self.shown).map((row) => row.querySelector('a').textContent).join()") == "rack0-unit5")
    #expect(try await page.evaluate("document.querySelectorAll('b, td script').length") == "0")
    await browser.stop()
    await proxy.stop(within: .zero)
  }

  @Test("the list meets the accessibility rules in wide and narrow windows, breaks no word, and has even columns")
  func layout() async throws {
    let transports = TransportRegistry([UnixTransport(), TCPTransport()])
    let devices = try (1...8).map { number in
      try Device(
        #require(DeviceName("board-\(number)")), title: number == 2 ? "Board in the hall" : nil,
        links: [
          transports.link("unix:/run/user/1000/byway/a-long-folder/of-a-socket/board-\(number).sock"),
          transports.link("tcp://127.0.0.1:\(number)"),
        ])
    }
    let proxy = try await Self.proxy(devices)
    let browser = try await Chromium()
    let page = try await browser.open(Self.url(proxy))
    let client = try BywayClient(TransportRegistry([TCPTransport()]).link(proxy.address))
    _ = try? await client.execute(Request(url: "http://board-1.localhost/"))
    await client.shutDown()
    #expect(
      try await eventually { try await page.evaluate("document.querySelectorAll('[data-state=down]').length") == "1" })
    let rules = try Chromium.rules()
    let lines = "Math.max(...[...document.querySelectorAll('tbody a')].map((link) => link.getClientRects().length))"
    let state = "document.querySelector('tbody td').clientWidth / document.querySelector('table').clientWidth"
    for look in Chromium.Look.all {
      let (wrong, picture) = try await page.view(look, evaluating: rules)
      #expect(wrong == "", "\(look.name)")
      try picture.write(to: URL(filePath: Screenshots.path("devices-\(look.name)")))
      #expect(try await page.view(look, evaluating: lines).value == "1", "\(look.name)")
      let share = try #require(Double(try await page.view(look, evaluating: state).value))
      #expect(look.width < 700 || share < 0.3, "\(look.name)")
    }
    await browser.stop()
    await proxy.stop(within: .zero)
  }

  @Test("an empty list lists a port that is plugged in while the page is open, and meets the accessibility rules")
  func empty() async throws {
    let ports = Mutex<[LinkPort]>([])
    let steps = FirstSteps(
      [FirstSteps.Step("Start a gateway:", command: "byway gateway --link serial:/dev/ttyGS0 --name NAME")],
      ports: FirstSteps.Ports(reason: "It has no name.", none: "Plug it in.", examination: { "byway doctor \($0)" }) {
        ports.withLock(\.self)
      })
    let proxy = try await Self.proxy([], firstSteps: steps)
    let browser = try await Chromium()
    let page = try await browser.open(Self.url(proxy))
    let text = "document.querySelector('main').innerText"
    #expect(try await page.evaluate(text).contains("Plug it in."))
    ports.withLock {
      $0 = [
        LinkPort(address: "serial:usb:0403:6001", device: "/dev/ttyUSB0", name: "<img src=x onerror=window.pwned=1>")
      ]
    }
    #expect(try await eventually { try await page.evaluate(text).contains("byway doctor serial:usb:0403:6001") })
    #expect(try await page.evaluate("typeof window.pwned + document.querySelectorAll('img').length") == "undefined0")
    for look in Chromium.Look.all {
      let (wrong, picture) = try await page.view(look, evaluating: Chromium.rules())
      #expect(wrong == "", "\(look.name)")
      try picture.write(to: URL(filePath: Screenshots.path("devices-empty-\(look.name)")))
    }
    await browser.stop()
    await proxy.stop(within: .zero)
  }
}

/// Devices behind a proxy on TCP, each with a gateway on a Unix socket.
private final class House: Sendable {
  private static let names = ["printer", "camera"]

  private let folder: TemporaryFolder
  private let transports = TransportRegistry([SerialTransport(), TCPTransport(), UnixTransport()])
  private let gateways: [Gateway]
  private let proxy: Proxy
  private let log: RequestLog

  init(_ present: [String]) async throws {
    let log = RequestLog()
    self.log = log
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder["ports"], withIntermediateDirectories: false)
    var gateways: [Gateway] = []
    for name in Self.names {
      var configuration = GatewayConfiguration(
        links: [try transports.link("unix:\(folder[name])")],
        origin: .handler { request in
          log.add(request, at: name)
          return Self.page(of: name)
        })
      configuration.logger = .quiet
      gateways.append(try await Gateway.start(configuration))
    }
    self.gateways = gateways
    proxy = try await Proxy.start(Self.configuration(present, in: folder, transports))
  }

  private static func configuration(
    _ present: [String], in folder: TemporaryFolder, _ transports: TransportRegistry
  ) throws -> ProxyConfiguration {
    let devices = try present.map { name in
      try Device(
        #require(DeviceName(name)), title: "The \(name)", links: [transports.link("unix:\(folder[name])")])
    }
    var configuration = ProxyConfiguration(
      devices: try DeviceDirectory(devices, patterns: [], main: [], suffixes: [], isOpen: true),
      listen: try transports.link("tcp://127.0.0.1:0"))
    let ports = try WatchedPorts("serial:\(folder["ports"])", transports: transports)
    configuration.discovery = DiscoverySettings([ports], transports: transports)
    configuration.logger = .quiet
    return configuration
  }

  private static func page(of name: String) -> Response {
    Response(
      status: .ok,
      fields: [.contentType: "text/html", .setCookie: "server=\(name); Domain=localhost; Path=/"],
      body: Body("<!doctype html><link rel=icon href=data:,><title>\(name)</title><p>This is the \(name).</p>"))
  }

  var port: Int { (try? proxy.address.hostPort().port) ?? 0 }
  var requests: [String] { log.lines }

  func url(_ name: String) -> String { "http://\(name).localhost:\(port)/" }

  func reload(_ present: [String]) async throws {
    try await proxy.reload(Self.configuration(present, in: folder, transports), within: .seconds(1))
  }

  /// Plugs in a device that reports its name, at the end of a new line.
  func plugInScanner() async throws -> (line: PseudoTerminalLine, gateway: Gateway) {
    let line = try PseudoTerminalLine(LineConfiguration(), paths: (folder["desk"], "\(folder["ports"])/adapter"))
    var configuration = GatewayConfiguration(
      links: [try transports.link("serial:\(folder["desk"])")], origin: .handler { _ in Self.page(of: "scanner") })
    configuration.claim = DeviceClaim(name: DeviceName("scanner"), title: DeviceText("The scanner"))
    configuration.logger = .quiet
    return (line, try await Gateway.start(configuration))
  }

  func stop() async {
    await proxy.stop(within: .zero)
    for gateway in gateways { await gateway.stop(within: .zero) }
  }
}

/// A log of the origins' requests: `camera /path cookies`.
private final class RequestLog: Sendable {
  private let state = Mutex<[String]>([])

  var lines: [String] { state.withLock(\.self) }

  func add(_ request: Request, at name: String) {
    let line = "\(name) \(request.head.path ?? "") \(request.head.headerFields[.cookie] ?? "")"
    state.withLock { $0.append(line) }
  }
}

extension Logger {
  fileprivate static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
