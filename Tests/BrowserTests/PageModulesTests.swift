import Byway
import BywayPrimitives
import Foundation
import TestPeers
import TestTools
import Testing

/// The page's modules run by a browser on data from devices.
@Suite("Modules of the inspector page", .serialized, .timeLimit(.minutes(2)), .cleansUp) struct PageModulesTests {
  /// Opens the inspector page, whose modules the tests import.
  private func page() async throws -> Chromium.Tab {
    let rig = try await InspectorRig { _ in Response(status: .ok) }
    let browser = try await Chromium()
    _ = Ending {
      await browser.stop()
      await rig.stop()
    }
    return try await browser.open(rig.page)
  }

  private static let awkward = [
    "it's", "a\nb", "a\n\n", "\n", "a\tb", "\r\n", "$(exit 1)", "`exit 1`", "@/etc/hostname", "--help", "-", "-\u{7}",
    "\u{1B}[31mred\u{1B}[0m", "\\x41\\n", "%s%n%d", "!x !!", "a\"b", "$HOME ${HOME}", "é😀", "\u{202E}abc", "~/x", "=ls",
    "*",
    "a;b&c|d>e<f", "{a,b}", "#x", "a\\", "\\'", "'; exit 1; '", "\u{85}x", "\u{7F}", "$'a'", "\\\n", "?x[a]",
  ]

  @Test(
    "a copied curl command passes every character correctly through dash and bash", arguments: [Program.dash, .bash])
  func commands(shell: Program) async throws {
    let page = try await page()
    for text in Self.awkward {
      let command = try await page.evaluate(Self.copy(of: text))
      let (arguments, input) = try await Self.run(command, in: shell)
      let isField = !text.utf8.contains { $0 == 0x0A || $0 == 0x0D }
      #expect(!isField || arguments.contains(Array("x-said: \(text)".utf8)), "\(command)")
      #expect(arguments.contains(Array(text.utf8)) || input == Array(text.utf8), "\(command)")
    }
    let secret = try await page.evaluate(Self.copy(of: #"{"password": "[redacted]"}"#))
    let refused = try await shell.run(["-c", Self.echo + secret])
    #expect(refused.exitCode != 0 && refused.output.isEmpty && refused.errorText.contains("SECRET1"), "\(secret)")
    let (arguments, _) = try await Self.run(secret, in: shell, ["SECRET1": "it's", "SECRET2": "$(exit)"])
    #expect(arguments.contains(Array(#"{"password": "$(exit)"}"#.utf8)), "\(secret)")
  }

  @Test("a copied curl command uses the request's original listener or proxy, without hop-by-hop fields")
  func ways() async throws {
    let page = try await page()
    let ways = [
      ("tcp://127.0.0.1:8080", "127.0.0.1:8080", ""), ("tcp://127.0.0.1:8080", "printer.localhost:8080", ""),
      ("tcp://127.0.0.1:8080", "origin.example:8080", "--proxy http://127.0.0.1:8080"),
      ("tls://127.0.0.1:8443", "origin.example", "--proxy https://127.0.0.1:8443"),
      ("unix:/run/byway.sock?mode=0600", "device", "--unix-socket /run/byway.sock"),
      ("inspector", "origin.example", "--proxy \"${PROXY:?"),
    ]
    for (listener, authority, way) in ways {
      let exchange: JSON = [
        "method": "GET", "scheme": "http", "authority": .string(authority), "path": "/",
        "listener": .string(listener),
        "requestFields": [
          ["name": "via", "value": "1.1 byway"], ["name": "connection", "value": "X-Own"],
          ["name": "x-own", "value": "1"],
        ],
      ]
      let command = try await page.evaluate("import('/copy.js').then(({ curl, wanted }) => curl(wanted(\(exchange))))")
      #expect(way == "" ? !command.contains("--proxy") : command.contains(way), "\(command)")
      #expect(!command.contains("via") && !command.contains("x-own"), "\(command)")
    }
  }

  @Test("a copied byway request goes to the listener's address without its options, or over the link with all options")
  func requests() async throws {
    let page = try await page()
    let link: JSON = ["name": "x", "address": "serial:/dev/x", "upstream": "serial:/dev/x?baud=9600"]
    let ways: [(listener: String?, authority: String, way: String)] = [
      ("tcp://0.0.0.0:8080", "127.0.0.1:8080", "--link tcp://127.0.0.1:8080"),
      ("tcp://127.0.0.1:8080", "printer.localhost:8080", "--link tcp://127.0.0.1:8080"),
      ("unix:/run/byway.sock?mode=0600&http=1.1", "device", "--link 'unix:/run/byway.sock?http=1.1'"),
      ("inspector", "device", "--link \"${PROXY:?"), (nil, "device", "--link 'serial:/dev/x?baud=9600'"),
      ("tcp://127.0.0.1:8080", "origin.example", "copy it as curl"),
    ]
    for (listener, authority, way) in ways {
      let exchange: JSON = [
        "method": "GET", "scheme": "http", "authority": .string(authority), "path": "/",
        "listener": listener.map { .string($0) },
      ]
      let command = try await page.evaluate(
        "import('/copy.js').then(({ byway, wanted }) => byway(wanted(\(exchange), undefined, \(link))))")
      #expect(command.contains(way), "\(command)")
    }
    let swift = try await page.evaluate(
      "import('/copy.js').then(({ swift, wanted }) => swift(wanted({ method: 'GET', path: '/' }, undefined, \(link))))")
    #expect(swift.contains("serial:/dev/x?baud=9600"), "\(swift)")
  }

  @Test("a saved HAR file has request bodies that are not text, and the page opens them unchanged")
  func binaryArchive() async throws {
    let page = try await page()
    let file: JSON = [
      "log": [
        "entries": [
          ["request": ["method": "POST", "url": "http://a/", "postData": ["text": "if8A", "_encoding": "base64"]]]
        ]
      ]
    ]
    let bytes = try await page.evaluate(
      "import('/har.js').then(({ parse }) => [...parse(\(JSON.string("\(file)"))).entries[0].request].join())")
    #expect(bytes == "137,255,0")
  }

  /// Returns the phases of an exchange that began at 0, seen at 1000, as text.
  private func phases(of exchange: JSON, _ link: JSON, on page: Chromium.Tab) async throws -> String {
    try await page.evaluate(
      """
      Promise.all([import('/store.js'), import('/waterfall.js')]).then(([{ Store }, { phases }]) => {
        const store = new Store()
        store.resetLinks([\(link)])
        store.take([\(exchange)])
        return phases(store.entries.get(1), 1000).map(({ name, from, to }) => `${name} ${from}-${to}`).join(', ')
      })
      """)
  }

  @Test("time spent waiting for a line or a disconnected link is not drawn as time at the peer")
  func waits() async throws {
    let page = try await page()
    let line: JSON = ["name": "x", "upstream": "x?baud=9600", "state": "up", "events": [], "line": [:]]
    let upload: JSON = [
      "id": 1, "state": "running", "upstream": "x?baud=9600", "begun": 0, "sent": 100, "requestEnded": 200,
    ]
    #expect(try await phases(of: upload, line, on: page) == "link 0-100, queue 100-1000")
    guard case .object(let members) = upload else { return }
    let left = JSON.object(members + [.init("left", 300)])
    #expect(try await phases(of: left, line, on: page) == "link 0-100, queue 100-300, up 300-1000")
    let arrived = JSON.object(members + [.init("left", 300), .init("arrived", 400)])
    #expect(
      try await phases(of: arrived, line, on: page) == "link 0-100, queue 100-300, up 300-400, far 400-1000")
    // Without a line, the end of the request is all that is known.
    let away: JSON = [
      "name": "x", "upstream": "x?baud=9600", "state": "interrupted", "line": nil,
      "events": [
        ["at": 300, "kind": "interrupted"], ["at": 500, "kind": "resumed"], ["at": 700, "kind": "interrupted"],
      ],
    ]
    #expect(
      try await phases(of: upload, away, on: page)
        == "link 0-100, up 100-200, far 200-300, link 300-500, far 500-700, link 700-1000")
  }

  @Test("pauses and delays are drawn as what they are, wherever they interrupt an exchange")
  func held() async throws {
    let page = try await page()
    let link: JSON = ["name": "x", "upstream": "x", "state": "up", "events": []]
    let paused: JSON = [
      "id": 1, "state": "running", "upstream": "x", "begun": 0, "held": [["by": "breakpoint", "from": 50]],
    ]
    #expect(try await phases(of: paused, link, on: page) == "link 0-50, pause 50-1000")
    let delayed: JSON = [
      "id": 1, "state": "done", "upstream": "x", "begun": 0, "sent": 100, "requestEnded": 100, "answered": 300,
      "ended": 900,
      "held": [["by": "fault", "from": 10, "to": 60], ["by": "breakpoint", "from": 310, "to": 850]],
    ]
    #expect(
      try await phases(of: delayed, link, on: page)
        == "link 0-10, delay 10-60, link 60-100, far 100-300, down 300-310, pause 310-850, down 850-900")
    let answered: JSON = [
      "id": 1, "state": "done", "from": "proxy", "begun": 0, "answered": 450, "ended": 500,
      "held": [["by": "breakpoint", "from": 10, "to": 400]],
    ]
    #expect(try await phases(of: answered, link, on: page) == "here 0-10, pause 10-400, here 400-500")
    // A paused exchange does not wait for the link.
    let away: JSON = [
      "name": "x", "upstream": "x", "state": "up",
      "events": [["at": 200, "kind": "interrupted"], ["at": 400, "kind": "resumed"]],
    ]
    #expect(
      try await phases(of: delayed, away, on: page)
        == "link 0-10, delay 10-60, link 60-100, far 100-200, link 200-310, pause 310-850, down 850-900")
    let titles = try await page.evaluate(
      "import('/waterfall.js').then(({ phaseTitle }) => ['pause', 'delay'].map(phaseTitle).join(', '))")
    #expect(titles == "Paused at a breakpoint, Delayed by a fault rule")
    // A file has them as well.
    let entry: JSON = [
      "startedDateTime": "2026-01-01T00:00:00Z", "request": ["method": "GET", "url": "http://x/"],
      "response": ["status": 200], "timings": ["blocked": 40, "send": 1, "wait": 2, "receive": 3],
      "_byway": ["held": [["by": "fault", "from": 1, "to": 41], ["by": "other"], "x"]],
    ]
    let read = try await page.evaluate(
      """
      import('/har.js').then(({ parse }) =>
        JSON.stringify(parse(JSON.stringify({ log: { entries: [\(entry)] } })).entries[0].detail.held))
      """)
    #expect(
      read == #"[{"by":"fault","from":1,"to":41},{"by":"breakpoint","from":0},{"by":"breakpoint","from":0}]"#, "\(read)"
    )
  }

  @Test("the axis of time shows usual exchanges, whatever the number and length of streams beside them")
  func axis() async throws {
    let page = try await page()
    func axis(_ exchanges: [JSON], byClock: Bool) async throws -> String {
      try await page.evaluate(
        """
        Promise.all([import('/store.js'), import('/waterfall.js')]).then(([{ Store }, { axis }]) => {
          const store = new Store()
          store.take(\(JSON.array(exchanges)))
          const { from, to } = axis([...store.entries.values()], 1e6, \(byClock))
          return `${from} ${to}`
        })
        """)
    }
    let usual: [JSON] = (1...6).map { ["id": .number($0), "state": "done", "begun": .number($0 * 10), "ended": 20] }
    let streams: [[JSON.Member]] = [
      [.init("state", "running")],
      [.init("state", "done"), .init("ended", 900_000), .init("type", "text/event-stream")],
      [.init("state", "done"), .init("ended", 900_000), .init("status", 101)],
      [.init("state", "done"), .init("ended", 900_000), .init("method", "CONNECT")],
    ]
    for stream in streams {
      let many: [JSON] = (7...20).map { .object([.init("id", .number($0)), .init("begun", 60)] + stream) }
      #expect(try await axis(usual + many, byClock: true) == "0 180", "\(stream)")
      #expect(try await axis(usual + many, byClock: false) == "0 60", "\(stream)")
    }
    #expect(try await axis([], byClock: true) == "0 1000")
  }

  @Test("a bar shows the part of an exchange that is in the range of time, and none if there is none")
  func bars() async throws {
    let page = try await page()
    func bar(_ from: Int, _ to: Int) async throws -> String {
      try await page.evaluate(
        """
        Promise.all([import('/store.js'), import('/waterfall.js')]).then(([{ Store }, { draw }]) => {
          const store = new Store()
          store.take([{ id: 1, state: 'done', begun: 1000, sent: 0, requestEnded: 100, answered: 200, ended: 400 }])
          const bar = document.createElement('div')
          draw(bar, store.entries.get(1), { from: \(from), to: \(to), byClock: true }, 5000)
          return [bar.hidden || `${bar.style.left} ${bar.style.width}`, ...bar.classList].join(' ')
        })
        """)
    }
    #expect(try await bar(1000, 1400) == "0% 100%")
    #expect(try await bar(0, 4000) == "25% 10%")
    #expect(try await bar(1200, 1600) == "0% 50% entered")
    #expect(try await bar(800, 1200) == "50% 50% cut")
    #expect(try await bar(1100, 1300) == "0% 100% cut entered")
    #expect(try await bar(1500, 1600) == "true")
    #expect(try await bar(500, 900) == "true")
  }

  @Test("a range of time keeps its order, stays within the whole, and follows the ends that it reaches")
  func range() async throws {
    let page = try await page()
    func range(_ steps: String) async throws -> String {
      try await page.evaluate(
        """
        import('/range.js').then(({ Range }) => {
          const range = new Range(), whole = { from: 100, to: 200 }
          \(steps)
          const { from, to } = range.within({ from: 100, to: 300 })
          return `${from} ${to}${range.isWhole ? ' whole' : ''}`
        })
        """)
    }
    #expect(try await range("") == "100 300 whole")
    #expect(try await range("range.set(120, 150, whole)") == "120 150")
    #expect(try await range("range.set(150, 120, whole)") == "120 150")
    #expect(try await range("range.set(150, 250, whole)") == "150 300")
    #expect(try await range("range.set(50, 150, whole); whole.from = 0") == "100 150")
    #expect(try await range("range.set(100, 200, whole)") == "100 300 whole")
    #expect(try await range("range.set(130, 130, whole)") == "130 131")
    #expect(try await range("range.set(120, 150, whole); range.move(20, whole)") == "140 170")
    #expect(try await range("range.set(120, 150, whole); range.move(-90, whole)") == "100 130")
    #expect(try await range("range.set(120, 150, whole); range.move(90, whole)") == "170 300")
    #expect(try await range("range.set(120, 150, whole); range.setEnd('from', 190, whole)") == "149 150")
    #expect(try await range("range.set(120, 150, whole); range.setEnd('to', 110, whole)") == "120 121")
    #expect(try await range("range.set(120, 150, whole); range.setEnd('to', 400, whole)") == "120 300")
    #expect(try await range("range.set(120, 150, whole); range.reset()") == "100 300 whole")
    let overlaps = try await page.evaluate(
      """
      import('/range.js').then(({ overlaps }) => [[0, 9], [0, 10], [15, 1], [20, 5], [21, 5], [0, 100]]
        .map(([begun, lasts]) => overlaps({ from: 10, to: 20 }, { exchange: { begun }, lasted: () => lasts }, 0)).join())
      """)
    #expect(overlaps == "false,true,true,true,false,true")
  }

  @Test("the totals are the bytes of the exchanges shown, and the time from the first beginning to the last end")
  func totals() async throws {
    let page = try await page()
    let words = try await page.evaluate(
      """
      Promise.all([import('/store.js'), import('/totals.js')]).then(([{ Store }, { inWords }]) => {
        const store = new Store()
        store.take([
          { id: 1, state: 'done', begun: 1000, ended: 3000, requestBytes: 10, responseBytes: 2048 },
          { id: 2, state: 'running', begun: 2000, responseBytes: 1024 }, { id: 3, state: 'done', begun: 1500, ended: 10 },
        ])
        const entries = [...store.entries.values()]
        return [inWords(entries, 5000), inWords(entries.slice(2), 5000), inWords([], 0)].join('|')
      })
      """)
    #expect(words == "  ·  ↓ 3.0 KiB  ·  ↑ 10 B  ·  4.00 s|  ·  ↓ 0 B  ·  ↑ 0 B  ·  10 ms|")
  }

  @Test("exchanges are in the order of their numbers, whatever order their changes arrive in")
  func order() async throws {
    let page = try await page()
    let ids = try await page.evaluate(
      """
      Promise.all([import('/store.js'), import('/filter.js')]).then(([{ Store }, { sort }]) => {
        const store = new Store()
        store.take([{ id: 1, begun: 0 }, { id: 3, begun: 1 }])
        store.take([{ id: 2, begun: 2 }, { id: 4, begun: 2 }])
        const entries = [...store.entries.values()]
        return [entries.map(({ id }) => id), sort(entries, { by: 'begun', descending: true }, 0).map(({ id }) => id)].join(' ')
      })
      """)
    #expect(ids == "1,2,3,4 4,3,2,1")
  }

  @Test("the JSON view breaks lines and keeps values as written, at any depth")
  func json() async throws {
    let page = try await page()
    func laidOut(_ text: String) async throws -> String {
      try await page.evaluate("import('/json.js').then(({ layOut }) => layOut(\(JSON.string(text))))")
    }
    #expect(
      try await laidOut(#"{"id":123456789012345678901234567890,"id":-0,"x":[1.0,1e400,"\u0041",{}]}"#) == """
        {
          "id": 123456789012345678901234567890,
          "id": -0,
          "x": [
            1.0,
            1e400,
            "\\u0041",
            {}
          ]
        }
        """)
    for text in ["", "{", "[1,]", "{a:1}", "01", "\"\n\"", "[1 2]", "nul", "[1}"] {
      #expect(try await laidOut(text) == "undefined", "\(text)")
    }
    let deep =
      "import('/json.js').then(({ layOut, parse }) => { const text = '['.repeat(1e5) + ']'.repeat(1e5); "
      + "return [layOut(text).replaceAll(/\\s/g, '') === text, parse(text).kind] })"
    #expect(try await page.evaluate(deep) == "true,array")
  }

  /// A replacement for curl that prints its arguments, each followed by a NUL, and then its standard input.
  private static let echo =
    #"exec </dev/null; curl() { for argument in "$@"; do printf '%s\0' "$argument"; done; cat; }; "#

  /// Returns a command for a request with that text as a field and as its body.
  private static func copy(of text: String) -> String {
    let value = JSON.string(text)
    return """
      import('/copy.js').then(({ curl, wanted }) => { const body = new TextEncoder().encode(\(value)); return curl(wanted({ method: 'POST', \
      scheme: 'http', authority: 'device', path: '/', requestFields: [{ name: 'x-said', value: \(value) }], requestBytes: body.length, \
      requestBody: { kept: body.length, whole: true } }, body)) })
      """
  }

  private static func run(
    _ command: String, in shell: Program, _ environment: [String: String] = [:]
  ) async throws -> (arguments: [[UInt8]], input: [UInt8]) {
    let result = try await shell.run(["-c", echo + command], environment: environment)
    #expect(result.exitCode == 0, "\(command): \(result.errorText)")
    var parts = Array(result.output).split(separator: 0, omittingEmptySubsequences: false).map(Array.init)
    let input = parts.popLast() ?? []
    return (parts, input)
  }
}
