import Foundation
import Synchronization
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// Configurations that change under load.
  @Suite("Reload under load") struct ReloadTests {
    @Test("none of 10,000 requests fails while both ends reload twenty times")
    func load() async throws {
      let folder = try TemporaryFolder()
      let origins = [try await OriginServer(on: .unix(folder["a"])), try await OriginServer(on: .unix(folder["b"]))]
      func gatewayFile(_ round: Int) -> String {
        """
        origin = \(origins[round % 2].endpoint)
        response-timeout = \(30 + round)
        link = unix:\(folder["l"])
        \(round % 3 == 0 ? "" : "link = unix:\(folder["extra\(round)"])")
        """
      }
      func proxyFile(_ round: Int) -> String {
        """
        link = unix:\(folder["l"])
        listen = unix:\(folder["p"])
        link-timeout = \(20 + round)
        \(round % 2 == 0 ? "" : "compress = yes")
        """
      }
      let gateway = try await BywayProcess.gateway(["--config", folder.write(gatewayFile(0), to: "g.conf")])
      let proxy = try await BywayProcess.proxy(["--config", folder.write(proxyFile(0), to: "p.conf")])
      let (changing, changed) = AsyncStream<Void>.makeStream()
      async let reports = Self.load(on: folder["p"], until: changing)
      for round in 1...20 {
        try folder.write(gatewayFile(round), to: "g.conf")
        try folder.write(proxyFile(round), to: "p.conf")
        for daemon in [gateway, proxy] {
          daemon.process.send(SIGHUP)
          try await EndToEnd.waitUntil("reload \(round)", within: .seconds(20)) {
            daemon.log.components(separatedBy: "Reloaded").count == round + 1
          }
        }
      }
      changed.finish()
      for report in try await reports {
        #expect(report.contains("1000 succeeded, 0 failed, 0 errored, 0 timeout"), "\(report)")
        #expect(report.contains("status codes: 1000 2xx"), "\(report)")
      }
      for daemon in [proxy, gateway] { #expect(await daemon.process.stop() == .code(0)) }
      for origin in origins { await origin.stop() }
    }

    /// Sends a thousand requests in a row, at least ten times, until all reloads are done.
    private static func load(on socket: String, until changing: AsyncStream<Void>) async throws -> [String] {
      let hasChanged = Mutex(false)
      let watching = Task {
        for await _ in changing {}
        hasChanged.withLock { $0 = true }
      }
      defer { watching.cancel() }
      var reports: [String] = []
      while reports.count < 10 || !hasChanged.withLock(\.self) {
        let result = try await Program.h2load.run(
          ["-n", "1000", "-c", "10", "-m", "4", "--base-uri", "unix:\(socket)", "http://localhost/"])
        reports.append(String(decoding: result.output, as: UTF8.self))
      }
      return reports
    }
  }
}
