import Byway
import BywayPrimitives
import BywayWebSocket
import Foundation
import NIOCore
import TCPTransport
import TestPeers
import TestTools

/// A headless Chromium from Debian, controlled by the DevTools protocol over WebSockets.
final class Chromium: Sendable {
  private let folder: TemporaryFolder
  private let process: ChildProcess
  private let client: BywayClient
  private let port: Int

  init() async throws {
    folder = try TemporaryFolder()
    process = try ChildProcess(
      Program.chromium.path(),
      [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
        "--remote-debugging-port=0", "--user-data-dir=\(folder["profile"])", "about:blank",
      ])
    let line = try await process.errorLine(containing: "DevTools listening on ws://", within: .seconds(30))
    guard let match = line.firstMatch(of: /ws:\/\/127\.0\.0\.1:([0-9]+)\//), let port = Int(match.1) else {
      throw PeerFailure("no port in \(line)")
    }
    self.port = port
    client = try BywayClient(
      link: "tcp://127.0.0.1:\(port)?http=1.1", transports: [TCPTransport()])
  }

  /// Opens a new tab with that page.
  func open(_ url: String) async throws -> Tab {
    let request = try Request(.put, url: "http://127.0.0.1:\(port)/json/new?about:blank")
    let answer = try await client.execute(request).body.collect(upTo: 1 << 20)
    guard let socket = JSON(parsing: String(buffer: answer))?["webSocketDebuggerUrl"]?.text else {
      throw PeerFailure("no tab: \(String(buffer: answer))")
    }
    let tab = Tab(client, socket)
    try await tab.go(to: url)
    return tab
  }

  func stop() async {
    await client.shutDown()
    await process.stop()
  }

  /// An expression that returns violations of the accessibility rules.
  static func rules() throws -> String {
    try String(
      contentsOf: URL(filePath: #filePath).appending(path: "../../Support/page_rules.js").standardizedFileURL,
      encoding: .utf8)
  }

  /// The window's size and the user's color preferences.
  struct Look: Sendable {
    let name: String
    let width: Int
    let isDark: Bool

    static let all = [
      Look(name: "light", width: 1400, isDark: false), Look(name: "dark", width: 1400, isDark: true),
      Look(name: "medium", width: 800, isDark: false), Look(name: "narrow", width: 420, isDark: false),
      Look(name: "narrow-dark", width: 420, isDark: true),
    ]
  }

  /// A browser tab, observed through its scripts.
  struct Tab: Sendable {
    private let client: BywayClient
    private let socket: String

    fileprivate init(_ client: BywayClient, _ socket: String) {
      self.client = client
      self.socket = socket
    }

    /// Loads a page, and returns when it is complete.
    func go(to url: String) async throws {
      let answer = try await command("Page.navigate", ["url": .string(url)])
      if let error = answer["errorText"]?.text { throw PeerFailure("\(url): \(error)") }
      let isLoaded = try await eventually {
        try await evaluate("document.readyState == 'complete' && location.href != 'about:blank'") == "true"
      }
      if !isLoaded { throw PeerFailure("\(url) has not loaded") }
    }

    /// Returns the value of an expression as text once it is available, or the error message.
    func evaluate(_ expression: String) async throws -> String {
      let answer = try await command(
        "Runtime.evaluate",
        ["expression": .string("(async () => String(await (\(expression))))()"), "awaitPromise": .bool(true)])
      return answer["result"]?["value"]?.text ?? answer["exceptionDetails"].map { "\($0)" } ?? ""
    }

    /// Presses keys one after the other, as a keyboard does.
    /// - Parameter keys: single characters, or names such as `Tab`.
    func press(_ keys: String...) async throws {
      let codes = ["Tab": 9, "Enter": 13, "Escape": 27, "ArrowRight": 39, "ArrowLeft": 37, "ArrowDown": 40, "End": 35]
      var all: [(method: String, parameters: JSON)] = [("Page.bringToFront", [:])]
      for key in keys {
        let code = codes[key] ?? Int(key.uppercased().utf8.first ?? 0)
        let text: JSON? = key == "Enter" ? "\r" : key.count == 1 ? .string(key) : nil
        for kind in [text == nil ? "rawKeyDown" : "keyDown", "keyUp"] {
          all.append(
            (
              "Input.dispatchKeyEvent",
              [
                "type": .string(kind), "key": .string(key), "windowsVirtualKeyCode": .number(code),
                "text": kind == "keyDown" ? text : nil,
              ]
            ))
        }
      }
      _ = try await commands(all)
    }

    /// Types a text into the element that has the focus.
    func type(_ text: String) async throws {
      _ = try await command("Input.insertText", ["text": .string(text)])
    }

    /// Takes a screenshot of the page as a PNG file.
    func photograph(to path: String) async throws {
      // Background tabs are not rendered.
      let answers = try await commands([("Page.bringToFront", [:]), ("Page.captureScreenshot", ["format": "png"])])
      try Self.picture(answers[1]).write(to: URL(filePath: path))
    }

    /// Returns the value of an expression as text in a window with that look, and a screenshot.
    func view(_ look: Look, evaluating expression: String) async throws -> (value: String, picture: Data) {
      // A window keeps its look as long as the connection that requested it; two frames later it is rendered.
      let drawn = "await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
      let answers = try await commands([
        ("Page.bringToFront", [:]),
        (
          "Emulation.setDeviceMetricsOverride",
          ["width": .number(look.width), "height": 800, "deviceScaleFactor": 1, "mobile": .bool(false)]
        ),
        (
          "Emulation.setEmulatedMedia",
          [
            "features": [
              ["name": "prefers-color-scheme", "value": .string(look.isDark ? "dark" : "light")],
              ["name": "prefers-reduced-motion", "value": "reduce"],
            ]
          ]
        ),
        (
          "Runtime.evaluate",
          [
            "expression": .string("(async () => { \(drawn); return String(await (\(expression))) })()"),
            "awaitPromise": .bool(true),
          ]
        ),
        ("Page.captureScreenshot", ["format": "png"]),
      ])
      let value = answers[3]["result"]?["value"]?.text ?? answers[3]["exceptionDetails"].map { "\($0)" } ?? ""
      return (value, try Self.picture(answers[4]))
    }

    private static func picture(_ answer: JSON) throws -> Data {
      guard let data = answer["data"]?.text.flatMap({ Data(base64Encoded: $0) }) else {
        throw PeerFailure("no picture")
      }
      return data
    }

    private func command(_ method: String, _ parameters: JSON) async throws -> JSON {
      try await commands([(method, parameters)])[0]
    }

    /// Runs commands one after the other, each after the response to the previous one.
    private func commands(_ commands: [(method: String, parameters: JSON)]) async throws -> [JSON] {
      var configuration = WebSocket.Configuration.defaults
      configuration.opening = .seconds(10)
      return try await client.withWebSocket(socket, configuration: configuration) { socket in
        var messages = socket.messages.makeAsyncIterator()
        var answers: [JSON] = []
        for (index, (method, parameters)) in commands.enumerated() {
          try await socket.send("\(["id": .number(index), "method": .string(method), "params": parameters] as JSON)")
          var answer: JSON?
          while answer == nil {
            guard let message = try await messages.next() else { throw PeerFailure("\(method) was not answered") }
            guard case .text(let text) = message, let found = JSON(parsing: text), found["id"] != nil else { continue }
            if let error = found["error"] { throw PeerFailure("\(method): \(error)") }
            answer = found["result"] ?? .null
          }
          answers.append(answer ?? .null)
        }
        return answers
      }
    }
  }
}
