import Byway
import BywayDevices
import BywayGateway
import BywayProxy
import Foundation
import HTTPTypes
import LineDevices
import LineEmulation
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
