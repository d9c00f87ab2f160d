import Byway
import BywayPlugins
import HTTPTypes
import Logging
import TestTools
import Testing

/// Plugins that change what they must not change.
@Suite("Refused changes of plugins", .timeLimit(.minutes(1))) struct PluginRefusalTests {
  private static let user = HTTPField.Name("byway-user") ?? .from
  private static let coding = HTTPField.Name("byway-coding") ?? .from

  /// A plugin that makes a forbidden change, and answers 200 whatever happens to its request.
  private func forging(
    _ policy: PluginSettings.FailurePolicy, hosts: [String] = [], logger: Logger = PluginRig.quiet,
    _ change: @escaping @Sendable (inout HTTPRequest) -> Void,
    _ test: (PluginRig, RequestCount) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let plugin = try await TestPlugin(in: folder) { request in
      var request = request
      change(&request.head)
      _ = try? await hops.forward(request)
      return Response(status: .ok, body: Body("from the plugin"))
    }
    let seen = RequestCount()
    let rig = try await PluginRig(
      [plugin.address], in: folder,
      settings: {
        $0.onFailure = policy
        $0.scope.hosts = hosts
      }, logger: logger
    ) { request in
      seen.add()
      return Response(status: .ok, body: Body(request.head.headerFields[Self.user] ?? "untouched"))
    }
    try await test(rig, seen)
    await rig.stop()
    await plugin.stop()
  }

  @Test("a request that is changed so fails with 502, the plugin's name and the reason, whatever the plugin answers")
  func refused() async throws {
    try await forging(.refuse) {
      $0.headerFields[Self.user] = "root"
    } _: { rig, seen in
      let response = try await rig.client.execute(Request(.post, url: "http://device/", body: Body("x")))
      #expect(response.status == 502)
      let text = try await response.text
      #expect(text.contains("the plugin plugin-0") && text.contains("byway-user"), "\(text)")
      #expect(seen.count == 0)
      let status = await rig.plugins[0].status
      #expect(status.figures.failures == [.refused: 1] && status.figures.requests == 1)
    }
  }

  @Test("each new reason is in the log at once, and the same one again is not")
  func logged() async throws {
    let log = LogRecord()
    try await forging(.refuse, logger: log.logger) {
      $0.headerFields[$0.path == "/user" ? Self.user : Self.coding] = "x"
    } _: { rig, _ in
      for path in ["/user", "/user", "/coding", "/user", "/coding"] {
        let response = try await rig.client.get("http://device\(path)")
        #expect(response.status == 502)
      }
      let lines = log.entries.filter { $0.message == "A request fails because of its plugin" }
      #expect(lines.map(\.level) == [.warning, .debug, .warning, .debug, .debug])
      let reasons = lines.filter { $0.level == .warning }.map { "\($0.metadata["reason"] ?? "")" }
      #expect(
        reasons.count == 2 && reasons[0].contains("byway-user") && reasons[1].contains("byway-coding"), "\(reasons)")
      #expect(lines[2].metadata["repeated"] == "1")
    }
  }

  @Test("with on-failure=bypass the request goes on unchanged")
  func bypassed() async throws {
    try await forging(.bypass) {
      $0.headerFields[Self.user] = "root"
    } _: { rig, seen in
      let text = try await rig.client.get("http://device/").text
      #expect(text == "untouched")
      #expect(seen.count == 1)
    }
  }

  @Test("a host out of the plugin's scope is refused")
  func host() async throws {
    try await forging(.refuse, hosts: ["device"]) {
      $0.authority = "evil.example"
    } _: { rig, seen in
      let response = try await rig.client.get("http://device/")
      #expect(response.status == 502)
      #expect(try await response.text.contains("evil.example"))
      #expect(seen.count == 0)
    }
  }

  @Test("credentials for the proxy that a plugin sets are refused")
  func credentials() async throws {
    try await forging(.refuse) {
      $0.headerFields[.proxyAuthorization] = "Basic x"
    } _: { rig, _ in
      let next = Next([rig.plugins[0]]) { _ in Response(status: .ok) }
      do {
        _ = try await next(Request(url: "http://device/"))
        Issue.record("the request was not refused")
      } catch {
        #expect(BywayError(error).message.contains("proxy-authorization"))
      }
    }
  }

  @Test("a field of Byway in a plugin's own response fails the request")
  func response() async throws {
    let folder = try TemporaryFolder()
    let plugin = try await TestPlugin(in: folder) { _ in
      Response(status: .ok, fields: [Self.user: "root"], body: Body("x"))
    }
    let rig = try await PluginRig([plugin.address], in: folder) { _ in Response(status: .ok) }
    let response = try await rig.client.get("http://device/")
    #expect(response.status == 502)
    #expect(try await response.text.contains("byway-user"))
    #expect(try await eventually { await rig.plugins[0].runningExchanges == 0 })
    await rig.stop()
    await plugin.stop()
  }
}
