import BywayGateway
import BywayHTTPWire
import BywayInspector
import BywayInterceptors
import BywayLineLayer
import BywayPrimitives
import BywayProxy
import Foundation
import HTTPTypes
import Logging
import NIOCore
import Synchronization
import TCPTransport
import TestTools
import Testing
import UnixTransport

@testable import Byway

/// The inspector's page in a browser.
@Suite("Inspector page in a browser", .serialized, .timeLimit(.minutes(2))) struct InspectorInBrowserTests {
  private static let rows = "document.querySelectorAll('.row:not([hidden])')"

  @Test("the page lists running exchanges, and shows fields and body of one, which can be sent again")
  func tour() async throws {
    let rig = try await InspectorRig { request in
      let body = #"{"name":"printer","pages":[1,2,3]}"#
      return Response(
        status: request.head.path == "/gone" ? .notFound : .ok, fields: [.contentType: "application/json"],
        body: Body(body))
    }
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    // The page removes the token from the address bar, which others may see.
    #expect(try await page.evaluate("location.href.includes('\(rig.token)')") == "false")
    try await rig.get("/status?token=hidden")
    try await rig.get("/gone")
    #expect(try await eventually { try await page.evaluate("\(Self.rows).length") == "2" })
    let list = try await page.evaluate("document.querySelector('#list').innerText")
    #expect(list.contains("/status?token=[redacted]") && list.contains("404") && !list.contains("hidden"), "\(list)")
    _ = try await page.evaluate("\(Self.rows)[0].click()")
    let detail = "document.querySelector('#detail').innerText"
    #expect(try await eventually { try await page.evaluate(detail).contains("200") })
    _ = try await page.evaluate(
      "[...document.querySelectorAll('#detail [role=tab]')].find((tab) => tab.textContent.startsWith('Response')).click()"
    )
    #expect(
      try await eventually { try await page.evaluate(detail).contains("printer") }
    )
    try await page.photograph(to: Screenshots.path("inspector"))
    _ = try await page.evaluate(
      "[...document.querySelectorAll('#detail button')].find((button) => button.textContent == 'Resend').click()")
    #expect(try await eventually { try await page.evaluate("\(Self.rows).length") == "3" })
    #expect(rig.paths.filter { $0 == "/status?token=hidden" }.count == 2, "\(rig.paths)")
    await browser.stop()
    await rig.stop()
  }

  @Test("the page shows data from a hostile device as text: no script runs, nothing loads, no element is created")
  func hostile() async throws {
    let payloads = [
      "<img src=x onerror=window.pwned=1>", "<script>window.pwned=1</script>", "\"><svg onload=window.pwned=1>",
      "javascript:window.pwned=1", "'-window.pwned=1-'", "</title><body onload=window.pwned=1>", "{{window.pwned=1}}",
      "\u{202E}gnp.exe", "<iframe srcdoc='<script>parent.pwned=1</script>'>", "<base href=//evil.example>",
      "__proto__", "<style>*{display:none}</style>",
      "<a href=javascript:window.pwned=1 autofocus onfocus=window.pwned=1>",
    ]
    let name = try #require(HTTPField.Name("x-said"))
    let rig = try await InspectorRig { request in
      let payload = request.head.headerFields[name] ?? ""
      return Response(
        status: .ok,
        fields: [
          .contentType: "text/html", name: payload, .setCookie: "\(payload)=\(payload)", .server: payload,
        ], body: Body("\(payload)\n{\"\(payload)\": 1}"))
    }
    for payload in payloads {
      let escaped = PercentEncoding.encode(payload) { _ in false }
      try await rig.get("/\(escaped)?\(escaped)=\(escaped)", [name: payload, .userAgent: payload])
    }
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    _ = try await page.evaluate("document.addEventListener('securitypolicyviolation', () => { window.refused = 1 })")
    #expect(try await eventually { try await page.evaluate("\(Self.rows).length") == "\(payloads.count)" })
    for index in payloads.indices {
      _ = try await page.evaluate("\(Self.rows)[\(index)].click()")
      for tab in ["Overview", "Request", "Response"] {
        _ = try await page.evaluate(
          "[...document.querySelectorAll('#detail [role=tab]')].find((tab) => tab.textContent.startsWith('\(tab)')).click()"
        )
        for mode in ["Tree", "Text", "Hex"] {
          _ = try await page.evaluate(
            "[...document.querySelectorAll('#detail button')].filter((button) => button.textContent == '\(mode)').map((button) => button.click())"
          )
        }
      }
    }
    #expect(try await page.evaluate("typeof window.pwned + typeof window.refused") == "undefinedundefined")
    let foreign =
      "img, iframe, base, object, embed, body script, body style, [onerror], [onload], [onfocus], a[href^=javascript]"
    #expect(try await page.evaluate("document.querySelectorAll('\(foreign)').length") == "0")
    await browser.stop()
    await rig.stop()
  }

  @Test("the page stays responsive with 10,000 exchanges, and renders only the rows in view")
  func many() async throws {
    let rig = try await InspectorRig { _ in Response(status: .ok) }
    rig.fill(10_000)
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    #expect(
      try await eventually { try await page.evaluate("document.querySelector('#list').ariaRowCount") == "10001" })
    #expect(Int(try await page.evaluate("\(Self.rows).length")) ?? .max < 200)
    _ = try await page.evaluate("document.querySelector('#list').scrollTop = 0")
    let shown = "[...\(Self.rows)].some((row) => row.querySelector('.way').textContent == '/made/0')"
    #expect(try await eventually { try await page.evaluate(shown) == "true" })
    _ = try await page.evaluate(
      "(() => { const text = document.querySelector('#f-text'); text.value = '/made/9999'; text.dispatchEvent(new Event('input', { bubbles: true })) })()"
    )
    #expect(try await eventually { try await page.evaluate("\(Self.rows).length") == "1" })
    try await page.photograph(to: Screenshots.path("inspector-filtered"))
    await browser.stop()
    await rig.stop()
  }

  @Test("the keys and the pointer choose a range of time, which the list and its footer show, and change columns")
  func overview() async throws {
    let rig = try await InspectorRig { _ in Response(status: .ok, body: Body("12345")) }
    rig.fill(3)
    try await rig.get("/last")
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    func focus(_ element: String) async throws {
      _ = try await page.evaluate("document.querySelector('\(element)').focus()")
    }
    func press(_ key: String) async throws {
      _ = try await page.evaluate(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: '\(key)', bubbles: true, cancelable: true }))"
      )
    }
    let total = "document.querySelector('#total').textContent"
    #expect(try await eventually { try await page.evaluate(total).hasPrefix("4 exchanges  ·  ↓ 5 B  ·  ↑ 0 B  ·  ") })
    let clocks =
      "[...\(Self.rows)].every((row) => /^\\d\\d:\\d\\d:\\d\\d\\.\\d{3}$/.test(row.querySelector('.c-clock').textContent))"
    #expect(try await page.evaluate(clocks) == "true")

    // The range becomes a moment at the end, after the first exchanges.
    try await focus(".end.from")
    try await press("End")
    let shown = try await page.evaluate("\(Self.rows).length")
    #expect(Int(shown).map { $0 < 4 } == true)
    #expect(try await page.evaluate(total).hasPrefix("\(shown) of 4 exchanges"))
    let values = "['from', 'to'].map((end) => document.querySelector(`.end.${end}`).ariaValueNow).join()"
    let atEnd = try await page.evaluate(values).split(separator: ",")
    #expect(Int(atEnd[0]).map { $0 + 1 } == Int(atEnd[1]), "\(atEnd)")
    try await press("Escape")
    #expect(try await page.evaluate("\(Self.rows).length") == "4")
    #expect(try await page.evaluate("document.querySelector('#overview button').disabled") == "true")

    // With half of the range, the bars are twice as wide.
    let left = "parseFloat(document.querySelector('.row:not([hidden]) .bar').style.left)"
    let whole = try #require(Double(try await page.evaluate(left)))
    try await focus(".end.to")
    for _ in 0..<5 { try await press("PageDown") }
    let half = try #require(Double(try await page.evaluate(left)))
    #expect(whole > 0 && abs(half - 2 * whole) < 0.1, "\(half) and \(whole)")
    try await press("Escape")

    let drag = """
      (() => {
        const area = document.querySelector('.area'), box = area.getBoundingClientRect()
        area.setPointerCapture = () => {}
        const send = (kind, share) => area.dispatchEvent(new PointerEvent(kind, { button: 0, clientX: box.left + box.width * share, bubbles: true }))
        send('pointerdown', 0.5); send('pointermove', 0.75); send('pointerup', 0.75)
        return ['left', 'width'].map((name) => Math.round(parseFloat(document.querySelector('.window').style[name]))).join()
      })()
      """
    #expect(try await page.evaluate(drag) == "50,25")
    _ = try await page.evaluate("document.querySelector('#overview button').click()")
    #expect(try await page.evaluate("\(Self.rows).length") == "4")

    let width = "document.querySelector('.head .c-path').offsetWidth"
    let before = try #require(Int(try await page.evaluate(width)))
    try await focus(".c-path .edge")
    for _ in 0..<3 { try await press("ArrowLeft") }
    #expect(Int(try await page.evaluate(width)) == before - 24)
    #expect(try await page.evaluate("document.activeElement.ariaValueNow") == "\(before - 24)")
    #expect(try await page.evaluate("\(Self.rows)[0].querySelector('.c-path').offsetWidth") == "\(before - 24)")
    // The last column keeps some width.
    _ = try await page.evaluate(
      "(() => { for (let left = 200; left > 0; left -= 1) document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' })) })()"
    )
    #expect(try await page.evaluate("document.querySelector('.head .c-phases').offsetWidth >= 120") == "true")
    _ = try await page.evaluate("(window.mark = 1, location.reload())")
    #expect(
      try await eventually { try await page.evaluate("typeof window.mark + \(Self.rows).length") == "undefined4" })
    #expect(Int(try await page.evaluate(width)) != before)
    try await focus(".c-path .edge")
    try await press("Home")
    #expect(Int(try await page.evaluate(width)) == before)
    await browser.stop()
    await rig.stop()
  }

  @Test(
    "the menu has the actions for files, and in a narrow window also the rare ones; the line's panel shows four figures"
  )
  func menus() async throws {
    let rig = try await InspectorRig { _ in Response(status: .ok) }
    rig.lookAtLine()
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    #expect(try await eventually { try await page.evaluate("document.querySelector('#strip').hidden") == "false" })
    let items = "[...document.querySelectorAll('#files button')].map(({ id }) => id).join()"
    let title = "document.querySelector('#files-title').textContent"
    let wide = try #require(Chromium.Look.all.first)
    let narrow = try #require(Chromium.Look.all.last)
    #expect(try await page.view(wide, evaluating: "\(title) + \(items)").value == "Fileshar-save,har-open,record-save")
    #expect(
      try await page.view(narrow, evaluating: "\(title) + \(items)").value
        == "Moreclear,faults,har-save,har-open,record-save")
    let height = "document.querySelector('.top').offsetHeight < 50"
    #expect(try await page.view(narrow, evaluating: height).value == "true")
    let cut =
      "(() => { const facts = document.querySelector('.linkfacts'); return facts.scrollWidth > facts.clientWidth })()"
    #expect(try await page.view(narrow, evaluating: cut).value == "false")
    _ = try await page.evaluate(
      "(document.querySelector('#files').open = true, document.querySelector('#har-open').addEventListener('click', (event) => event.preventDefault()), document.querySelector('#har-save').click())"
    )
    #expect(try await page.evaluate("document.querySelector('#files').open") == "false")
    _ = try await page.evaluate("(location.hash = '#/line')")
    let main = "[...document.querySelectorAll('.wire > .tiles dt')].map(({ textContent }) => textContent).join()"
    #expect(try await eventually { try await page.evaluate(main) == "Down now,Up now,Running,Round trip" })
    #expect(
      try await page.evaluate(
        "document.querySelector('.more').open + ' ' + (document.querySelectorAll('.more dt').length > 4)")
        == "false true")
    await browser.stop()
    await rig.stop()
  }

  @Test("every view meets the accessibility rules in wide and narrow windows, light and dark")
  func rules() async throws {
    let rig = try await InspectorRig { request in
      Response(
        status: request.head.path == "/gone" ? .notFound : .ok, fields: [.contentType: "application/json"],
        body: Body(#"{"name":"printer","serial":12345678901234567890,"pages":[1,2,3]}"#))
    }
    let rules = try Chromium.rules()
    for path in ["/status?token=hidden", "/gone", "/pages"] { try await rig.get(path) }
    rig.lookAtLine()
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    #expect(try await eventually { try await page.evaluate("\(Self.rows).length") == "3" })
    let part = "document.querySelector('#part').innerText"
    let views: [(name: String, action: String, isThere: String)] = [
      ("list", "0", "\(Self.rows).length == 3"),
      ("detail", "\(Self.rows)[0].click()", "\(part).includes('Took')"),
      ("request", "document.querySelector('#tab-Request').click()", "\(part).includes('Fields')"),
      ("response", "document.querySelector('#tab-Response').click()", "\(part).includes('12345678901234567890')"),
      (
        "edit",
        "[...document.querySelectorAll('.actions button')].find((button) => button.textContent.startsWith('Edit')).click()",
        "document.querySelector('dialog').open"
      ),
      (
        "faults", "(document.querySelector('dialog').close(), document.querySelector('#faults').click())",
        "document.querySelector('dialog').innerText.includes('There are no fault rules')"
      ),
      (
        "comparison", "(document.querySelector('dialog').close(), location.hash = '#/compare/2/3')",
        "document.querySelector('#comparison').innerText.includes('Response fields')"
      ),
      (
        "line", "(location.hash = '#/line')",
        "document.querySelector('.wire')?.innerText.includes('Starting kernel') === true"
      ),
    ]
    for view in views {
      _ = try await page.evaluate(view.action)
      #expect(try await eventually { try await page.evaluate(view.isThere) == "true" }, "\(view.name)")
      for look in Chromium.Look.all {
        let (wrong, picture) = try await page.view(look, evaluating: rules)
        #expect(wrong == "", "\(view.name), \(look.name)")
        try picture.write(to: URL(filePath: Screenshots.path("inspector-\(view.name)-\(look.name)")))
      }
    }
    Screenshots.tell()
    await browser.stop()
    await rig.stop()
  }

  /// Selects the only exchange, and waits for one of its buttons.
  /// - Returns: an expression for a button, without the condition of its text.
  private static func showExchange(on page: Chromium.Tab, until text: String) async throws -> String {
    #expect(try await eventually { try await page.evaluate("\(rows).length") == "1" })
    _ = try await page.evaluate("\(rows)[0].click()")
    let button = "[...document.querySelectorAll('.actions button')].find((button) => button.textContent"
    #expect(try await eventually { try await page.evaluate("\(button) \(text)) != null") == "true" })
    return button
  }

  @Test("the page injects a fault, shows a reminder while it is active, removes it, and saves a recording")
  func faults() async throws {
    let rig = try await InspectorRig { _ in Response(status: .ok, body: Body("well")) }
    #expect(try await rig.get("/status?x=1") == 200)
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    let button = try await Self.showExchange(on: page, until: "== 'Inject faults …'")
    _ = try await page.evaluate("\(button) == 'Inject faults …').click()")
    let dialog = "document.querySelector('dialog').innerText"
    #expect(try await eventually { try await page.evaluate(dialog).contains("There are no fault rules") })
    _ = try await page.evaluate(
      """
      (() => {
        const select = document.querySelector('dialog select')
        select.value = 'status'
        select.dispatchEvent(new Event('change'))
        document.querySelector('dialog fieldset .first').click()
      })()
      """)
    #expect(
      try await eventually { try await page.evaluate(dialog).contains("GET /status: answer here with status 503") })
    #expect(try await rig.get("/status?x=2") == 503)
    #expect(try await eventually { try await page.evaluate(dialog).contains("1 request so far") })
    _ = try await page.evaluate("document.querySelector('dialog').close()")
    let notice = "document.querySelector('#notice').innerText"
    #expect(try await page.evaluate(notice).contains("1 fault rule active."))
    _ = try await page.evaluate("document.querySelector('#notice-act').click()")
    #expect(try await eventually { try await page.evaluate(dialog).contains("Remove") })
    _ = try await page.evaluate("document.querySelector('dialog li button').click()")
    #expect(try await eventually { try await page.evaluate(dialog).contains("There are no fault rules") })
    #expect(try await rig.get("/status?x=3") == 200)
    let isHidden = "document.querySelector('#notice').hidden"
    #expect(try await page.evaluate(isHidden) == "true")
    // Another page, or the console of the demo, changes it.
    rig.cable.setPulled(true)
    #expect(try await eventually { try await page.evaluate(notice).contains("The cable is unplugged.") })
    rig.cable.setPulled(false)
    #expect(try await eventually { try await page.evaluate(isHidden) == "true" })
    _ = try await page.evaluate(
      """
      (URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text }); return 'blob:none' }, \
      document.querySelector('dialog').close(), document.querySelector('#record-save').click())
      """)
    #expect(try await eventually { try await page.evaluate("window.saved?.split('byway-recording 2').length") == "4" })
    await browser.stop()
    await rig.stop()
  }

  @Test("the page does not copy or send the placeholder of a redacted secret")
  func secrets() async throws {
    let rig = try await InspectorRig { _ in Response(status: .ok) }
    try await rig.get("/status?token=hidden")
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    let button = try await Self.showExchange(on: page, until: "== 'As curl'")

    _ = try await page.evaluate(
      "(Object.defineProperty(navigator, 'clipboard', { value: { writeText: (text) => { window.copied = text } } }), \(button) == 'As curl').click())"
    )
    #expect(try await eventually { try await page.evaluate("typeof window.copied") == "string" })
    let command = try await page.evaluate("window.copied")
    #expect(command.contains(#"/status?token='"${SECRET1:?"#), "\(command)")
    #expect(!command.contains("[redacted]") && !command.contains("via:"), "\(command)")

    _ = try await page.evaluate("\(button).startsWith('Edit')).click()")
    let path = "document.querySelector('dialog .wide input')"
    #expect(try await eventually { try await page.evaluate("\(path) != null") == "true" })
    _ = try await page.evaluate("(\(path).value += '&y=2', document.querySelector('dialog .first').click())")
    let problem = "document.querySelector('dialog .problem').textContent"
    #expect(try await eventually { try await page.evaluate(problem).contains("[redacted]") })
    #expect(rig.paths == ["/status?token=hidden"])
    // A field without edits is sent unchanged.
    _ = try await page.evaluate(
      "(\(path).value = \(path).value.replace('&y=2', ''), document.querySelector('dialog .first').click())")
    #expect(try await eventually { rig.paths.count == 2 })
    #expect(rig.paths == ["/status?token=hidden", "/status?token=hidden"])
    await browser.stop()
    await rig.stop()
  }
}

/// A device behind a proxy with an inspector on a port.
final class InspectorRig: Sendable {
  let token: String
  let cable = EmulatedCable()
  private let inspector: Inspector
  private let feed: InspectorFeed
  private let seen = SeenPaths()
  private let gateway: Gateway
  private let proxy: Proxy
  private let server: LocalServer
  private let client: BywayClient
  private let folder: TemporaryFolder

  init(origin: @escaping @Sendable (Request) async throws -> Response) async throws {
    let transports = TransportRegistry([TCPTransport(), UnixTransport()])
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    folder = try TemporaryFolder()
    let seen = seen
    var inner = GatewayConfiguration(
      links: [try transports.link("unix:\(folder["link"])")],
      origin: .handler { request in
        seen.add(request.head.path ?? "")
        return try await origin(request)
      })
    inner.logger = quiet
    gateway = try await Gateway.start(inner)
    let inspector = Inspector(within: MemoryBudget(limit: 256 << 20))
    self.inspector = inspector
    var outer = ProxyConfiguration(
      link: try transports.link("unix:\(folder["link"])"), listen: try transports.link("unix:\(folder["listen"])"))
    outer.observers = [inspector]
    let faultRules = FaultRules()
    outer.interceptors = [faultRules]
    outer.logger = quiet
    let proxy = try await Proxy.start(outer)
    self.proxy = proxy
    let feed = InspectorFeed(
      inspector,
      InspectorActions(
        send: { request, _ in try await proxy.send(request, from: Resending.listener) }, faultRules: faultRules,
        line: cable))
    self.feed = feed
    token = feed.token
    server = try await LocalServer.start(on: transports.link("tcp://127.0.0.1:0"), logger: quiet) {
      try await feed.respond(to: $0)
    }
    client = try BywayClient(link: "unix:\(folder["listen"])", transports: [UnixTransport()])
  }

  var page: String { "http://127.0.0.1:\((try? server.address.hostPort().port) ?? 0)/#\(token)" }
  var paths: [String] { seen.paths }

  /// - Returns: the status.
  @discardableResult
  func get(_ path: String, _ fields: HTTPFields = [:]) async throws -> Int {
    var request = try Request(url: "http://localhost\(path)")
    request.head.headerFields = fields
    let response = try await client.execute(request)
    _ = try await response.body.collect(upTo: 1 << 16)
    return response.status.code
  }

  /// Adds `count` recorded exchanges.
  func fill(_ count: Int) {
    for number in 0..<count { inspector.add("/made/\(number)") }
  }

  /// Adds a serial line with some seconds of history.
  func lookAtLine() {
    var line = LineStatistics()
    (line.nominalRate, line.rate, line.roundTrip, line.framePayload) = (11_520, 11_500, 4_000_000, 180)
    for state in ["up", "up", "interrupted", "up", "up"] {
      line.sentBytes += 2_000
      line.receivedBytes += 9_000
      line.sentFrames += 20
      line.receivedFrames += 60
      line.damagedFrames += 1
      if state == "interrupted" { line.foreignText.add(Array("U-Boot 2024.01\r\nStarting kernel ...\r\n".utf8)) }
      feed.look([
        LinkSnapshot(
          name: "printer", address: "serial:/dev/ttyUSB0?baud=115200", state: state, since: nil, reason: nil,
          running: 0,
          openings: 1, losses: 0, line: line)
      ])
    }
  }

  func stop() async {
    await client.shutDown()
    await server.stop()
    await proxy.stop(within: .zero)
    await gateway.stop(within: .zero)
  }
}

/// An emulated line of which only the cable matters.
final class EmulatedCable: InspectedLine {
  private let state = Mutex(false)

  var isPulled: Bool { state.withLock(\.self) }
  var errorRates: [String] { ["none"] }
  var errorRate: String { "none" }

  func setPulled(_ isPulled: Bool) { state.withLock { $0 = isPulled } }
  func setErrorRate(_ name: String) -> Bool { name == "none" }
}

/// A record of the paths that the origin received.
private final class SeenPaths: Sendable {
  private let state = Mutex<[String]>([])

  var paths: [String] { state.withLock(\.self) }

  func add(_ path: String) {
    state.withLock { $0.append(path) }
  }
}

extension Inspector {
  /// Adds a recorded exchange.
  fileprivate func add(_ path: String) {
    var record = ExchangeRecord(
      listener: "unix:/listen", version: .http1_1,
      head: [":method": "GET", ":scheme": "http", ":authority": "device", ":path": "\(path)"], trace: nil, begun: .now()
    )
    let observer = observer(of: record)
    observer?.responseBegan([":status": "200", "content-type": "text/plain"], record)
    record.ended = .now()
    observer?.ended(record)
  }
}
