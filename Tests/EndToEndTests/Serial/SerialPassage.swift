import BywayLineEmulation
import Foundation
import TestPeers
import TestTools
import Testing

/// A running origin, gateway, emulated line and proxy. A killed process can be restarted on the same line.
struct SerialPassage: Sendable {
  let line: SerialLine
  let folder: TemporaryFolder
  let origin: OriginServer
  let gateway: BywayProcess
  let proxy: BywayProcess

  init(_ configuration: LineConfiguration, back: LineConfiguration? = nil) async throws {
    try await self.init(over: SerialLine(configuration, back: back))
  }

  init(over line: SerialLine) async throws {
    self.line = line
    folder = try TemporaryFolder()
    origin = try await OriginServer(on: .unix(folder["o"]))
    gateway = try await Self.gateway(on: line.far, to: origin)
    proxy = try await Self.proxy(on: line.near)
  }

  static func gateway(on link: String, to origin: OriginServer) async throws -> BywayProcess {
    try await .gateway(["--link", link, "--origin", "\(origin.endpoint)"])
  }

  static func proxy(on link: String) async throws -> BywayProcess {
    try await .proxy(["--link", link, "--listen", "127.0.0.1:0"])
  }

  var url: String { get throws { try proxy.url } }

  /// Waits until at least `count` requests have reached the origin's /held and /noise, and lists them.
  func arrivals(atLeast count: Int = 0) async throws -> [String] {
    try await direct("/arrivals?count=\(count)").json()
  }

  /// Requests a body from the origin directly, for comparison.
  func direct(_ target: String) async throws -> CurlAnswer {
    try await Curl.fetch("--unix-socket", folder["o"], "http://origin\(target)")
  }

  func stop() async {
    await proxy.process.stop()
    await gateway.process.stop()
    await origin.stop()
  }
}

extension BywayProcess {
  /// The URL of a proxy.
  var url: String { get throws { try "http://\(endpoint())" } }

  /// Kills the process, and returns when it has exited and released its lock on a port.
  func kill() async throws {
    process.send(SIGKILL)
    // The process keeps its descriptors until its last thread has left the kernel: seconds on a loaded machine.
    guard await process.waitForExit(within: .seconds(60)) != nil else {
      throw PeerFailure("Process \(process.id) still runs a minute after SIGKILL.")
    }
  }
}
