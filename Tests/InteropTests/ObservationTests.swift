import Foundation
import TestPeers
import TestTools
import Testing

/// Metrics and logs of a gateway and a proxy for an administrator.
@Suite(.timeLimit(.minutes(2))) struct ObservationTests {
  /// An origin, a gateway and a proxy; the latter two have metrics and an access log.
  private struct Chain {
    let folder: TemporaryFolder
    let origin: OriginServer
    let gateway: BywayProcess
    let proxy: BywayProcess

    init() async throws {
      folder = try TemporaryFolder()
      origin = try await OriginServer()
      let observed = { [folder] (name: String) in
        [
          "--metrics", "unix:\(folder["\(name).metrics"])", "--access-log", folder["\(name).log"],
          "--access-log-format", "json",
        ]
      }
      gateway = try await BywayProcess.gateway(
        ["--link", "unix:\(folder["l"])", "--origin", origin.url] + observed("gateway"))
      proxy = try await BywayProcess.proxy(
        ["--link", "unix:\(folder["l"])", "--listen", "unix:\(folder["p"])"] + observed("proxy"))
    }

    func fetch(_ path: String, _ options: String...) async throws -> CurlAnswer {
      try await Curl.fetch(["--unix-socket", folder["p"], "http://device\(path)"] + options)
    }

    func metrics(of name: String) async throws -> String {
      try await Curl.fetch("--unix-socket", folder["\(name).metrics"], "http://localhost/metrics").text
    }

    /// Waits until the log has `count` lines, and returns them as dictionaries.
    func log(of name: String, count: Int) async throws -> [[String: Any]] {
      func lines() throws -> [Substring] {
        try String(contentsOfFile: folder["\(name).log"], encoding: .utf8).split(separator: "\n")
      }
      #expect(try await eventually { try lines().count >= count })
      return try lines().map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    }

    func stop() async {
      await proxy.process.stop()
      await gateway.process.stop()
      await origin.stop()
    }
  }

  @Test("a request is counted at both ends, and promtool accepts the metrics")
  func metrics() async throws {
    let chain = try await Chain()
    for _ in 0..<3 { #expect(try await chain.fetch("/echo").status == 200) }
    for name in ["gateway", "proxy"] {
      let text = try await chain.metrics(of: name)
      let count = try #require(
        text.split(separator: "\n").first { $0.hasPrefix("http_server_request_duration_seconds_count{") }, "\(text)")
      #expect(count.contains(#"http_request_method="GET""#) && count.contains(#"http_response_status_code="200""#))
      #expect(count.hasSuffix(" 3"), "\(count)")
      #expect(text.contains("http_client_request_duration_seconds_count{") && text.contains("byway_link_up{link="))
      if name == "proxy" {
        let openings = text.firstMatch(of: #/byway_link_openings_total{link="[^"]+"} 1\n/#)
        #expect(openings != nil && text.contains("byway_link_losses_total{"), "\(text)")
      }
      let file = try chain.folder.write(text, to: "metrics")
      let check = try await Program.bash.run([
        "-c", "\"$0\" check metrics < \"$1\" 2>&1", Program.promtool.path(), file,
      ])
      #expect(check.exitCode == 0 && check.text.isEmpty, "\(check.text)\n\(text)")
    }
    await chain.stop()
  }

  @Test("Prometheus scrapes the metrics, and a web page by DNS rebinding does not")
  func prometheus() async throws {
    let folder = try TemporaryFolder()
    let origin = try await OriginServer()
    let port = try Endpoint.freePort()
    let gateway = try await BywayProcess.gateway([
      "--link", "unix:\(folder["l"])", "--origin", origin.url, "--metrics", "127.0.0.1:\(port)",
    ])
    for _ in 0..<3 {
      let request = ["--http2-prior-knowledge", "--unix-socket", folder["l"], "http://device/echo"]
      #expect(try await Curl.fetch(request).status == 200)
    }
    let prometheus = try await PrometheusServer(in: folder, targets: ["127.0.0.1:\(port)"])
    let count = "sum by (http_response_status_code) (http_server_request_duration_seconds_count)"
    #expect(
      try await eventually { try await prometheus.values(of: count) == [["http_response_status_code": "200"]: 3] })
    for expression in [
      "up == 1", "http_server_active_requests == 0", "process_resident_memory_bytes > 1e6", "process_open_fds > 3",
      "time() - process_start_time_seconds < 3600", "process_cpu_seconds_total > 0", "byway_build_info == 1",
    ] {
      #expect(try await prometheus.values(of: expression).count == 1, "\(expression)")
    }
    await prometheus.stop()
    for name in ["evil.example", "evil.example:\(port)"] {
      #expect(try await Curl.fetch("-H", "Host: \(name)", "http://127.0.0.1:\(port)/metrics").status == 421)
    }
    await gateway.process.stop()
    await origin.stop()
  }

  @Test("promtool accepts the alerts")
  func alerts() async throws {
    let tests = try #require(#filePath.firstRange(of: "/Tests/"))
    let rules = #filePath[..<tests.lowerBound] + "/packaging/prometheus/alerts.yml"
    let check = try await Program.promtool.run(["check", "rules", String(rules)])
    #expect(check.exitCode == 0, "\(check.text)\(check.errorText)")
  }

  @Test("proxy and gateway log an exchange with the same id, given by the client or new")
  func ids() async throws {
    let chain = try await Chain()
    let known = "4bf92f3577b34da6a3ce929d0e0e4736"
    _ = try await chain.fetch("/echo", "-H", "traceparent: 00-\(known)-00f067aa0ba902b7-01")
    let echo = try await chain.fetch("/echo").json(Echo.self)
    let traces = try await ["proxy", "gateway"].asyncMap {
      try await chain.log(of: $0, count: 2).map { $0["trace"] as? String }
    }
    #expect(traces[0] == traces[1] && traces[0].first == known && traces[0].last != known)
    // The origin receives the id as well.
    #expect(echo.values("traceparent").first?.split(separator: "-")[1].description == traces[0].last)
    await chain.stop()
  }

  @Test("a failure is in the log with its id, and in the metrics with its kind")
  func failure() async throws {
    let chain = try await Chain()
    await chain.origin.stop()
    #expect(try await chain.fetch("/echo").status == 503)
    let entry = try #require(try await chain.log(of: "gateway", count: 1).first)
    #expect(entry["failure"] as? String == "originUnavailable" && entry["failedBy"] as? String == "origin")
    let line = try await chain.gateway.process.errorLine(containing: "A request failed", within: .seconds(5))
    #expect(line.contains("trace=\(entry["trace"] ?? "")"), "\(line)")
    #expect(try await chain.metrics(of: "gateway").contains(#"error_type="originUnavailable""#))
    #expect(try await chain.metrics(of: "proxy").contains(#"http_response_status_code="503",error_type="503""#))
    await chain.stop()
  }

  @Test("SIGUSR1 reopens a renamed access log, and no line is lost")
  func rotation() async throws {
    let chain = try await Chain()
    let log = chain.folder["proxy.log"]
    for index in 0..<20 {
      _ = try await chain.fetch("/echo?\(index)")
      if index == 9 {
        try FileManager.default.moveItem(atPath: log, toPath: "\(log).1")
        chain.proxy.process.send(SIGUSR1)
        #expect(try await eventually { FileManager.default.fileExists(atPath: log) })
      }
    }
    await chain.proxy.process.stop()
    let text = try ["\(log).1", log].map { try String(contentsOfFile: $0, encoding: .utf8) }
    let numbers = text.flatMap { $0.matches(of: #/"path":"/echo\?(\d+)"/#).compactMap { Int($0.1) } }
    #expect(numbers == Array(0..<20))
    await chain.stop()
  }
}

extension Array {
  fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try await transform(element)) }
    return results
  }
}
