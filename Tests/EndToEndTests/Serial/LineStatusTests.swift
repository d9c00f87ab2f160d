import BywayLineEmulation
import BywayPrimitives
import TestPeers
import TestTools
import Testing

extension SerialEndToEnd {
  /// The status of a line as both ends report it.
  @Suite("Status of a serial line") struct LineStatusTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func link(of daemon: String) async throws -> JSON {
      let result = try await BywayProcess.run(["status", daemon, "--json"], environment: environment)
      let status = try #require(JSON(parsing: String(decoding: result.output, as: UTF8.self)), "\(result.errorText)")
      return try #require(status["members"]?.elements.first?["links"]?.elements.first)
    }

    private var environment: [String: String] { ["XDG_RUNTIME_DIR": folder.path, "RUNTIME_DIRECTORY": ""] }

    private func text(of daemon: String) async throws -> String {
      let result = try await BywayProcess.run(["status", daemon], environment: environment)
      return String(decoding: result.output, as: UTF8.self)
    }

    /// Returns whether a daemon's metrics show the link as up, through its control socket.
    private func isUp(_ daemon: String) async throws -> Bool {
      let socket = folder["byway/\(daemon)/control.sock"]
      let text = try await Curl.fetch("--unix-socket", socket, "http://byway/metrics").text
      let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("byway_link_up{") })
      return line.hasSuffix(" 1")
    }

    @Test("a faultless line has no errors, and an unplugged one is interrupted at both ends until it is back")
    func unplugged() async throws {
      let line = try SerialLine(LineConfiguration(baud: 230_400))
      let origin = try await OriginServer(on: .unix(folder["o"]))
      let gateway = try await BywayProcess.gateway(
        ["--link", line.far, "--origin", "\(origin.endpoint)", "--instance", "far"], environment: environment)
      #expect(try await link(of: "far")["state"]?.text == "waiting")
      let proxy = try await BywayProcess.proxy(
        ["--link", line.near, "--listen", "127.0.0.1:0", "--instance", "near"], environment: environment)
      let ends = ["near", "far"]
      for target in ["/", "/noise?seed=1&size=30000"] {
        #expect(try await Curl.fetch(try proxy.url + target).status == 200)
        for end in ends {
          let link = try await link(of: end)
          #expect(link["state"]?.text == "up")
          #expect(link["line"]?["errors"] == .number(0) && link["line"]?["errorsPerMillionBytes"] == .number(0))
          #expect(try await text(of: end).contains("no errors in "))
          #expect(try await isUp(end))
        }
      }

      line.cut(.hangUp)
      for end in ends {
        try await EndToEnd.waitUntil("\(end) notices", within: .seconds(5)) {
          try await self.link(of: end)["state"]?.text == "interrupted"
        }
        // The log has the reason once the daemon has looked for the device again.
        try await EndToEnd.waitUntil("\(end) knows why", within: .seconds(5)) {
          try await self.link(of: end)["reason"]?.text?.isEmpty == false
        }
        #expect(try await link(of: end)["since"]?.text?.hasSuffix("Z") == true)
        #expect(try await text(of: end).contains(": interrupted for "))
        #expect(try await !isUp(end))
      }
      line.restore()
      #expect(try await Curl.fetch(try proxy.url + "/", within: .seconds(30)).status == 200)
      for end in ends {
        #expect(try await link(of: end)["state"]?.text == "up")
        #expect(try await isUp(end))
      }
      await proxy.process.stop()
      await gateway.process.stop()
      await origin.stop()
    }

    @Test(
      "a silent line is interrupted at both ends, fails new requests in time, and recovers",
      arguments: [Cut.Kind.lose, .stall])
    func silent(_ kind: Cut.Kind) async throws {
      let line = try SerialLine(LineConfiguration(baud: 230_400))
      let origin = try await OriginServer(on: .unix(folder["o"]))
      let gateway = try await BywayProcess.gateway(
        ["--link", line.far, "--origin", "\(origin.endpoint)", "--instance", "far"], environment: environment)
      let proxy = try await BywayProcess.proxy(
        ["--link", line.near, "--listen", "127.0.0.1:0", "--instance", "near", "--link-timeout", "3"],
        environment: environment)
      let url = try proxy.url
      let target = "/noise?seed=7&size=100000"
      async let download = Curl.fetch(url + target, within: .seconds(60))
      try await EndToEnd.waitUntil("the download has begun", within: .seconds(10)) { line.toClient.delivered > 20_000 }
      line.cut(kind)
      let clock = ContinuousClock()
      let start = clock.now
      let late = try await Curl.fetch(url + "/", within: .seconds(20))
      #expect(clock.now - start > .seconds(2.9) && clock.now - start < .seconds(6), "\(kind): \(clock.now - start)")
      #expect(late.status == 503 || late.status == 504, "\(late.status)")
      #expect(late.text.contains("is silent: its far end has not answered in time"), "\(late.text)")
      for end in ["near", "far"] {
        try await EndToEnd.waitUntil("\(end) notices", within: .seconds(5)) {
          try await self.link(of: end)["state"]?.text == "interrupted"
        }
        let link = try await link(of: end)
        #expect(link["reason"]?.text?.contains("answers nothing") == true)
        #expect(link["since"]?.text?.hasSuffix("Z") == true)
        #expect(try await text(of: end).contains(": interrupted for "))
        #expect(try await !isUp(end))
      }
      line.restore()
      let whole = try await download
      #expect(whole.status == 200, "\(whole.errorText)")
      #expect(whole.body == (try await Curl.fetch("--unix-socket", folder["o"], "http://origin\(target)").body))
      for (end, process) in [("near", proxy), ("far", gateway)] {
        #expect(try await link(of: end)["state"]?.text == "up")
        #expect(process.log.contains("Line silent; the session waits for it"))
        _ = try await process.process.errorLine(containing: "Line is heard again", within: .seconds(5))
      }
      await proxy.process.stop()
      await gateway.process.stop()
      await origin.stop()
    }

    @Test("a gateway without its serial device reports the device it waits for, and why")
    func absent() async throws {
      let gateway = try await BywayProcess.gateway(
        ["--link", "serial:\(folder["tty"])", "--origin", "http://127.0.0.1:1", "--instance", "far"],
        environment: environment)
      let link = try await link(of: "far")
      #expect(link["state"]?.text == "waiting")
      let reason = try #require(link["reason"]?.text)
      #expect(gateway.log.contains(reason) && reason.contains(folder["tty"]), "\(reason)")
      #expect(try await text(of: "far").contains("waiting for the line, \(reason)"))
      await gateway.process.stop()
    }
  }
}
