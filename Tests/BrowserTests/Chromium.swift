import Byway
import BywayWebSocket
import Foundation
import NIOCore
import Primitives
import TCPTransport
import TestPeers
import TestTools

/// Debian's Chromium without a window, driven by the DevTools protocol over WebSockets.
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

  /// A tab of its own, which has gone to that page.
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

  /// What is on one page, by what its scripts say.
  struct Tab: Sendable {
    private let client: BywayClient
    private let socket: String

    fileprivate init(_ client: BywayClient, _ socket: String) {
      self.client = client
      self.socket = socket
    }

    /// Returns when the page has loaded.
    func go(to url: String) async throws {
      let answer = try await command("Page.navigate", ["url": .string(url)])
      if let error = answer["errorText"]?.text { throw PeerFailure("\(url): \(error)") }
      let isLoaded = try await eventually {
        try await evaluate("document.readyState == 'complete' && location.href != 'about:blank'") == "true"
      }
      if !isLoaded { throw PeerFailure("\(url) has not loaded") }
    }

    /// The value of an expression as text, once it is there; of one that fails, what it says.
    func evaluate(_ expression: String) async throws -> String {
      let answer = try await command(
        "Runtime.evaluate",
        ["expression": .string("(async () => String(await (\(expression))))()"), "awaitPromise": .bool(true)])
      return answer["result"]?["value"]?.text ?? answer["exceptionDetails"].map { "\($0)" } ?? ""
    }

    /// A picture of the page, as a PNG file.
    func photograph(to path: String) async throws {
      // What is behind other tabs is not drawn.
      _ = try await command("Page.bringToFront", [:])
      let answer = try await command("Page.captureScreenshot", ["format": "png"])
      guard let data = answer["data"]?.text.flatMap({ Data(base64Encoded: $0) }) else {
        throw PeerFailure("no picture")
      }
      try data.write(to: URL(filePath: path))
    }

    private func command(_ method: String, _ parameters: JSON) async throws -> JSON {
      var configuration = WebSocket.Configuration.defaults
      configuration.opening = .seconds(10)
      return try await client.withWebSocket(socket, configuration: configuration) { socket in
        try await socket.send("\(["id": 1, "method": .string(method), "params": parameters] as JSON)")
        for try await case .text(let text) in socket.messages {
          guard let message = JSON(parsing: text), message["id"] != nil else { continue }
          if let error = message["error"] { throw PeerFailure("\(method): \(error)") }
          return message["result"] ?? .null
        }
        throw PeerFailure("\(method) was not answered")
      }
    }
  }
}
