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

    // With half of the range, the bars are twice as wide. The list uses its rows again, so the path identifies an exchange.
    let early =
      "[...\(Self.rows)].find((row) => { const left = parseFloat(row.querySelector('.bar').style.left); return left > 0 && left < 50 })"
    let path = try await page.evaluate("\(early).querySelector('.way').textContent")
    let row = "[...\(Self.rows)].find((row) => row.querySelector('.way').textContent === '\(path)')"
    let left = "parseFloat(\(row).querySelector('.bar').style.left)"
    let whole = try #require(Double(try await page.evaluate(left)))
    try await focus(".end.to")
    for _ in 0..<5 { try await press("PageDown") }
    let half = try #require(Double(try await page.evaluate(left)))
    #expect(abs(half - 2 * whole) < 0.1, "\(path): \(half) and \(whole)")
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
    "the menu has actions for files, and in a narrow window also rare ones, and the line's panel shows four values"
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
        == "Moreclear,rules,har-save,har-open,record-save")
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
    for path in ["/status?token=hidden", "/gone", "/pages"] { try await rig.get(path) }
    rig.lookAtLine()
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    #expect(try await eventually { try await page.evaluate("\(Self.rows).length") == "3" })
    let part = "document.querySelector('#part').innerText"
    let views: [View] = [
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
        "faults", "(document.querySelector('dialog').close(), document.querySelector('#rules').click())",
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
    try await Self.view(views, on: page)
    Screenshots.tell()
    await browser.stop()
    await rig.stop()
  }

  private typealias View = (name: String, action: String, isThere: String)

  /// Opens views of the page one after the other, and compares each with the accessibility rules in every look.
  private static func view(_ views: [View], on page: Chromium.Tab) async throws {
    let rules = try Chromium.rules()
    for view in views {
      _ = try await page.evaluate(view.action)
      #expect(try await eventually { try await page.evaluate(view.isThere) == "true" }, "\(view.name)")
      for look in Chromium.Look.all {
        let (wrong, picture) = try await page.view(look, evaluating: rules)
        #expect(wrong == "", "\(view.name), \(look.name)")
        try picture.write(to: URL(filePath: Screenshots.path("inspector-\(view.name)-\(look.name)")))
      }
    }
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

  // MARK: Breakpoints

  private static let dialog = "document.querySelector('dialog').innerText"
  private static let bar = "document.querySelector('.pause')"
  private static let focus = "(document.activeElement.id || document.activeElement.textContent)"

  private static func press(_ button: String, in place: String) -> String {
    "[...document.querySelectorAll('\(place) button')].find((button) => button.textContent.startsWith('\(button)')).click()"
  }

  @Test(
    "by keyboard alone, a user sets a breakpoint, edits the request, answers the next one, and removes the breakpoint")
  func keyboard() async throws {
    let rig = try await InspectorRig { request in
      Response(status: .ok, body: Body("got \(String(buffer: try await request.body.collect(upTo: 1000)))"))
    }
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    func tab(to element: String) async throws {
      for _ in 0..<40 {
        if try await page.evaluate(Self.focus) == element { return }
        try await page.press("Tab")
      }
      Issue.record("\(element) is not reached")
    }
    #expect(try await eventually { try await page.evaluate("document.querySelector('#rules').hidden") == "false" })
    try await tab(to: "rules")
    try await page.press("Enter")
    #expect(try await eventually { try await page.evaluate(Self.dialog).contains("There are no fault rules") })
    #expect(try await page.evaluate(Self.focus) == "rules-faults")
    try await page.press("ArrowRight", "Tab", "Tab", "Tab")
    try await page.type("/form")
    try await page.press("Enter")
    #expect(try await eventually { try await page.evaluate(Self.dialog).contains("/form: pause the request") })
    try await page.press("Escape")
    #expect(try await page.evaluate(Self.focus) == "rules")

    let sent = Task { try await rig.post("/form", Body("original")) }
    let notice = "document.querySelector('#notice').innerText"
    #expect(try await eventually { try await page.evaluate(notice).contains("1 exchange is paused.") })
    let row = "\(Self.rows)[0]"
    let status = "\(row)?.querySelector('.c-status').ariaLabel"
    #expect(try await eventually { try await page.evaluate(status) == "paused at the request" })
    #expect(try await page.evaluate("\(row).innerText").contains(/paused \d+ s/))
    try await page.press("b")
    #expect(try await page.evaluate(Self.focus) == "Continue")
    #expect(try await page.evaluate("\(Self.bar).innerText").contains("Paused at the request"))
    try await page.press("Tab", "Enter")
    #expect(
      try await eventually { try await page.evaluate("document.querySelector('#part-body')?.value") == "original" })
    // A wrong field is refused beside the form, which keeps what was typed.
    try await tab(to: "part-fields")
    try await page.press("End")
    try await page.type("\nupgrade: h2c\n")
    try await page.press("Tab")
    _ = try await page.evaluate("document.activeElement.select()")
    try await page.type("edited")
    try await tab(to: "Continue with these changes")
    try await page.press("Enter")
    let reason = "document.querySelector('#part-fields-problem').innerText"
    #expect(try await eventually { try await page.evaluate(reason).contains("cannot be edited") })
    #expect(try await page.evaluate(Self.focus) == "part-fields")
    #expect(try await page.evaluate("document.activeElement.ariaInvalid") == "true")
    _ = try await page.evaluate("document.activeElement.select()")
    try await page.type("x-a: 1")
    try await tab(to: "Continue with these changes")
    try await page.press("Enter")
    #expect(try await sent.value == "200 got edited")
    // The focus stays at the exchange.
    #expect(try await eventually { try await page.evaluate(Self.focus) == "POST /form" })

    let next = Task { try await rig.post("/form", Body("next")) }
    #expect(try await eventually { try await page.evaluate(notice).contains("1 exchange is paused.") })
    try await page.press("b")
    try await tab(to: "Answer …")
    try await page.press("Enter")
    #expect(try await eventually { try await page.evaluate(Self.focus) == "part-status" })
    _ = try await page.evaluate("document.activeElement.select()")
    try await page.type("403")
    try await tab(to: "part-body")
    try await page.type("not today")
    try await tab(to: "Answer")
    try await page.press("Enter")
    #expect(try await next.value == "403 not today")
    await browser.stop()
    await rig.stop()
  }

  @Test("the page pauses a response, and sends the edited one")
  func editedResponse() async throws {
    let rig = try await InspectorRig { _ in Response(status: .ok, body: Body("one\r\ntwo\r\n")) }
    #expect(try await rig.get("/page") == 200)
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    let button = try await Self.showExchange(on: page, until: "== 'Break …'")
    _ = try await page.evaluate("\(button) == 'Break …').click()")
    #expect(try await eventually { try await page.evaluate(Self.dialog).contains("There are no breakpoints") })
    _ = try await page.evaluate(
      """
      (() => {
        const select = document.querySelector('dialog select')
        select.value = 'response'
        select.dispatchEvent(new Event('change'))
        document.querySelector('dialog fieldset label:last-of-type input').value = '2xx'
        document.querySelector('dialog fieldset .first').click()
      })()
      """)
    #expect(
      try await eventually {
        try await page.evaluate(Self.dialog).contains("GET /page: pause the response with status 2xx")
      })
    _ = try await page.evaluate("document.querySelector('dialog').close()")
    let sent = Task { try await rig.text("/page") }
    #expect(try await eventually { try await page.evaluate("\(Self.rows).length") == "2" })
    _ = try await page.evaluate("\(Self.rows)[1].click()")
    #expect(try await eventually { try await page.evaluate("\(Self.bar).hidden") == "false" })
    _ = try await page.evaluate(Self.press("Edit", in: ".pause"))
    let body = "document.querySelector('#part-body')"
    #expect(try await eventually { try await page.evaluate("\(body)?.value") == "one\ntwo\n" })
    _ = try await page.evaluate(
      "(\(body).value += 'three\\n', document.querySelector('#part-status').value = 201, document.querySelector('dialog .first').click())"
    )
    // Line breaks stay those of the original.
    #expect(try await sent.value == "201 one\r\ntwo\r\nthree\r\n")
    #expect(try await eventually { try await page.evaluate("\(Self.bar).hidden") == "true" })
    await browser.stop()
    await rig.stop()
  }

  @Test("when the client of a paused request leaves, the page and an open form say so")
  func clientLeaves() async throws {
    let rig = try await InspectorRig { _ in Response(status: .ok) }
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    try await rig.addBreakpoint(on: "request")
    let sent = Task { try await rig.text("/page") }
    #expect(try await eventually { try await page.evaluate("\(Self.rows).length") == "1" })
    _ = try await page.evaluate("\(Self.rows)[0].click()")
    #expect(try await eventually { try await page.evaluate("\(Self.bar).hidden") == "false" })
    _ = try await page.evaluate(Self.press("Edit", in: ".pause"))
    #expect(try await eventually { try await page.evaluate(Self.dialog).contains("It continues unchanged in ") })
    sent.cancel()
    #expect(try await eventually { try await page.evaluate(Self.dialog).contains("Its client has left") })
    #expect(try await page.evaluate("document.querySelector('dialog .first').disabled") == "true")
    _ = try await page.evaluate("document.querySelector('dialog').close()")
    #expect(try await page.evaluate("\(Self.bar).hidden") == "true")
    #expect(try await page.evaluate("document.querySelector('#detail .state').innerText").contains("cancelled"))
    #expect(try await page.evaluate("document.querySelector('#notice').innerText").contains("1 breakpoint active."))
    await browser.stop()
    await rig.stop()
  }

  @Test("the editor shows a hostile body as text with marks for invisible bytes, and sends the exact bytes")
  func hostileEditor() async throws {
    let hostile =
      "</textarea><script>window.pwned=1</script><img src=x onerror=window.pwned=1>\u{202E}gnp.exe\u{200B}\u{1B}[2J\u{7F}\rlone"
      + " ⟨U+202E⟩ \n" + String(repeating: "long ", count: 200_000)
    let rig = try await InspectorRig { _ in
      Response(status: .ok, fields: [.contentType: "text/html"], body: Body(hostile))
    }
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    try await rig.addBreakpoint(on: "response")
    let sent = Task { try await rig.text("/page") }
    #expect(try await eventually { try await page.evaluate("\(Self.rows).length") == "1" })
    _ = try await page.evaluate("\(Self.rows)[0].click()")
    #expect(try await eventually { try await page.evaluate("\(Self.bar).hidden") == "false" })
    _ = try await page.evaluate(Self.press("Edit", in: ".pause"))
    let body = "document.querySelector('#part-body')"
    #expect(try await eventually { try await page.evaluate("\(body)?.value.length > 1e6") == "true" })
    let start = try await page.evaluate("\(body).value.slice(0, 200)")
    #expect(
      start.hasPrefix(
        "</textarea><script>window.pwned=1</script><img src=x onerror=window.pwned=1>⟨U+202E⟩gnp.exe⟨U+200B⟩"
          + "⟨U+001B⟩[2J⟨U+007F⟩⟨U+000D⟩lone ⟨U+27E8⟩U+202E⟩ \n"
      ), "\(start)")
    #expect(
      try await page.evaluate("typeof window.pwned + document.querySelectorAll('dialog :is(script, img)').length")
        == "undefined0")
    _ = try await page.evaluate("(\(body).value += 'end', document.querySelector('dialog .first').click())")
    #expect(try await sent.value == "200 \(hostile)end")
    await browser.stop()
    await rig.stop()
  }

  @Test(
    "the views of paused exchanges and rules meet the accessibility rules in wide and narrow windows, light and dark")
  func pausedRules() async throws {
    let rig = try await InspectorRig { _ in Response(status: .ok, body: Body(#"{"name":"printer"}"#)) }
    try await rig.get("/status")
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    try await rig.addBreakpoint(on: "request")
    let sent = Task { try await rig.post("/jobs", Body("{\n  \"pages\": [1, 2, 3]\n}\n")) }
    #expect(try await eventually { try await page.evaluate("\(Self.rows).length") == "2" })
    let views: [View] = [
      ("paused", "\(Self.rows)[1].click()", "!\(Self.bar).hidden"),
      ("paused-edit", Self.press("Edit", in: ".pause"), "document.querySelector('#part-body') !== null"),
      (
        "breakpoints",
        "(document.querySelector('dialog').close(), document.querySelector('#notice-act').click(), document.querySelector('#rules').click(), 0)",
        "document.querySelector('#rules-faults') !== null"
      ),
      (
        "breakpoints-form", "document.querySelector('#rules-breakpoints').click()",
        "\(Self.dialog).includes('Every request: pause')"
      ),
      ("stubs", "document.querySelector('#rules-stubs').click()", "\(Self.dialog).includes('There are no stubs')"),
    ]
    try await Self.view(views, on: page)
    sent.cancel()
    await browser.stop()
    await rig.stop()
  }

  @Test("a stub made of an exchange answers at once, and is listed and removed in the page")
  func stub() async throws {
    let rig = try await InspectorRig { _ in
      Response(status: .ok, fields: [.contentType: "text/plain"], body: Body("real"))
    }
    #expect(try await rig.text("/status") == "200 real")
    let browser = try await Chromium()
    let page = try await browser.open(rig.page)
    let button = try await Self.showExchange(on: page, until: "== 'Make a stub'")
    _ = try await page.evaluate("\(button) == 'Make a stub').click()")
    let text = "document.querySelector('dialog textarea')"
    #expect(try await eventually { try await page.evaluate("\(text)?.value.includes('real')") == "true" })
    _ = try await page.evaluate(
      "(\(text).value = \(text).value.replace('real', 'made'), document.querySelector('dialog .first').click())")
    #expect(
      try await eventually {
        try await page.evaluate("document.querySelector('#notice').innerText").contains("1 stub active.")
      })
    #expect(try await rig.text("/status") == "200 made")
    _ = try await page.evaluate("document.querySelector('#notice-act').click()")
    #expect(try await eventually { try await page.evaluate(Self.dialog).contains("GET /status") })
    _ = try await page.evaluate("document.querySelector('dialog li button').click()")
    #expect(try await eventually { try await page.evaluate(Self.dialog).contains("There are no stubs") })
    #expect(try await rig.text("/status") == "200 real")
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
    let rules = InspectorRules(of: inspector)
    outer.interceptors = [rules]
    outer.logger = quiet
    let proxy = try await Proxy.start(outer)
    self.proxy = proxy
    let feed = InspectorFeed(
      inspector,
      InspectorActions(
        send: { request, _ in try await proxy.send(request, from: Resending.listener) }, rules: rules,
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

  /// - Returns: the status and the body.
  func text(_ path: String) async throws -> String { try await text(of: Request(url: "http://localhost\(path)")) }

  /// - Returns: the status and the body of the response.
  func post(_ path: String, _ body: Body) async throws -> String {
    try await text(of: Request(.post, url: "http://localhost\(path)", body: body))
  }

  private func text(of request: Request) async throws -> String {
    let response = try await client.execute(request)
    return "\(response.status.code) \(String(buffer: try await response.body.collect(upTo: 4 << 20)))"
  }

  /// Adds a breakpoint for all requests or responses.
  func addBreakpoint(on point: String) async throws {
    var head = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/api/breakpoints")
    if let name = HTTPField.Name("byway-token") { head.headerFields[name] = token }
    let answer = try await feed.respond(to: Request(head, body: Body(#"{"on":"\#(point)"}"#)))
    #expect(answer.status == .ok)
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
