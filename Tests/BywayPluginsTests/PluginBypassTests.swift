import Byway
import BywayPlugins
import Glibc
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

/// Requests whose plugin has failed: they fail as well, or go on without it.
@Suite("Requests after the failure of a plugin", .timeLimit(.minutes(1))) struct PluginBypassTests {
  /// A plugin that reads a request's body, sends the request on if it is to, and then waits until it is ended.
  private func ending(
    _ policy: PluginSettings.FailurePolicy, forwards: Bool = false, count: Int = 1,
    _ test: (PluginRig, _ end: @escaping @Sendable () async -> Void) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let (asked, asking) = AsyncStream.makeStream(of: Void.self)
    let plugin = try await TestPlugin(in: folder) { request in
      var request = request
      request.body = Body(try await request.body.collect(upTo: 1 << 20))
      if forwards { _ = try await hops.forward(request) }
      asking.yield()
      try await untilCancelled()
      return Response(status: .ok)
    }
    let rig = try await PluginRig([plugin.address], in: folder) {
      $0.onFailure = policy
    } origin: { request in
      let body = try await request.body.collect(upTo: 1 << 20)
      let trailer = await request.body.trailers()?[.marked]
      return Response(status: .ok, body: Body("\(body.readableBytes) \(trailer ?? "none")"))
    }
    try await test(rig) {
      var left = count
      for await _ in asked {
        left -= 1
        if left == 0 { break }
      }
      await plugin.stop()
    }
    await rig.stop()
    await plugin.stop()
  }

  @Test(
    "a body of up to 64 KiB that a plugin has read is sent without it, in one or more pieces and with its trailers",
    arguments: [([65_536], true), ([65_537], false), ([65_535, 1], true), ([65_535, 2], false), ([0, 1], true)])
  func kept(_ sizes: [Int], _ isKept: Bool) async throws {
    try await ending(.bypass) { rig, end in
      let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
      for size in sizes { sender.yield(ByteBuffer(repeating: UInt8(ascii: "x"), count: size)) }
      sender.finish()
      let request = try Request(
        .post, url: "http://device/", body: Body(chunks, trailers: { [.marked: "end"] }))
      let sent = Task { try await rig.client.execute(request) }
      await end()
      let response = try await sent.value
      #expect(response.status == (isKept ? 200 : 502))
      if isKept { #expect(try await response.text == "\(sizes.reduce(0, +)) end") }
      #expect(await rig.plugins[0].status.figures.failures == [.lost: 1])
    }
  }

  @Test("without on-failure=bypass, a request is not sent without the plugin, even if it could be")
  func refused() async throws {
    try await ending(.refuse) { rig, end in
      let sent = Task { try await rig.client.get("http://device/") }
      await end()
      let status = try await sent.value.status
      #expect(status == 502)
      let figures = await rig.plugins[0].status.figures
      #expect(figures.failures == [.lost: 1] && figures.requests == 1 && figures.lastTime == nil)
    }
  }

  @Test("two requests that wait for a plugin when it ends both go on, and both count")
  func twoAtOnce() async throws {
    try await ending(.bypass, count: 2) { rig, end in
      let sent = (0..<2).map { number in
        Task {
          try await rig.client.execute(
            Request(.post, url: "http://device/", body: .once(String(repeating: "x", count: number + 1))))
        }
      }
      await end()
      for (number, response) in sent.enumerated() {
        let text = try await response.value.text
        #expect(text == "\(number + 1) none")
      }
      let status = await rig.plugins[0].status
      #expect(status.figures.failures == [.lost: 2] && status.figures.requests == 2 && status.running == 0)
    }
  }

  @Test("an error says whether the plugin has sent the request on", arguments: [false, true])
  func processing(_ forwards: Bool) async throws {
    try await ending(.refuse, forwards: forwards) { rig, end in
      let next = Next([rig.plugins[0]]) { _ in Response(status: .ok) }
      let sent = Task { try await next(Request(.post, url: "http://device/")) }
      await end()
      let error = await #expect(throws: BywayError.self) { try await sent.value }
      #expect(error?.code == .pluginFailed && error?.cause != nil)
      #expect(error?.processing == (forwards ? .possible : BywayError.Processing.none))
    }
  }

  @Test(
    "a request that a plugin has sent on goes on without it if its method is idempotent",
    arguments: [(HTTPRequest.Method.put, true), (.delete, true), (.head, true), (.patch, false)])
  func methods(_ method: HTTPRequest.Method, _ isRepeated: Bool) async throws {
    try await ending(.bypass, forwards: true) { rig, end in
      let count = RequestCount()
      let next = Next([rig.plugins[0]]) { _ in
        count.add()
        return Response(status: .ok)
      }
      let sent = Task { try await next(Request(method, url: "http://device/")) }
      await end()
      #expect((try? await sent.value.status) == (isRepeated ? .ok : nil))
      #expect(count.count == (isRepeated ? 2 : 1))
    }
  }

  @Test("the second of two plugins fails: the first one's change goes on, and the log names the second")
  func second() async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let first = try await TestPlugin(in: folder) { request in
      var request = request
      request.head.headerFields[.marked] = "first"
      return try await hops.forward(request)
    }
    let log = LogRecord()
    let rig = try await PluginRig(
      [first.address, "unix:/nonexistent/a.sock"], in: folder, settings: { $0.onFailure = .bypass }, logger: log.logger
    ) { request in
      Response(status: .ok, body: Body(request.head.headerFields[.marked] ?? "none"))
    }
    for _ in 1...2 {
      #expect(try await rig.client.get("http://device/").text == "first")
    }
    let lines = log.entries.filter { $0.message == "A request goes on without its plugin" }
    #expect(lines.map(\.level) == [.warning, .debug])
    #expect(lines.allSatisfy { $0.context["plugin"] == "plugin-1" })
    #expect(
      lines.first.map { "\($0.metadata["reason"] ?? "")" }?.contains("The plugin plugin-1 did not answer") == true)
    #expect(await rig.plugins[0].status.figures.failures == [:])
    #expect(await rig.plugins[1].status.figures.failures == [.unavailable: 2])
    await rig.stop()
    await first.stop()
  }

  @Test("a failure of the second plugin is an answer for the first one, which may pass it on")
  func passedOn() async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let first = try await TestPlugin(in: folder) { try await hops.forward($0) }
    let rig = try await PluginRig([first.address, "unix:/nonexistent/a.sock"], in: folder) { _ in
      Response(status: .ok)
    }
    let response = try await rig.client.get("http://device/")
    #expect(response.status == 502)
    #expect(try await response.text.contains("plugin-1"))
    #expect(await rig.plugins[0].status.figures.failures == [:])
    #expect(try await eventually { await rig.plugins[0].runningExchanges == 0 })
    #expect(await rig.plugins[1].runningExchanges == 0)
    await rig.stop()
    await first.stop()
  }

  @Test("a plugin's forbidden response counts as refused, and its request goes on only if that is safe")
  func refusedResponse() async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let user = try #require(HTTPField.Name("byway-user"))
    let plugin = try await TestPlugin(in: folder) { request in
      if request.head.path == "/sent" { _ = try await hops.forward(request) }
      return Response(status: .ok, fields: [user: "root"])
    }
    let seen = RequestCount()
    let rig = try await PluginRig([plugin.address], in: folder) {
      $0.onFailure = .bypass
    } origin: { _ in
      seen.add()
      return Response(status: .ok, body: Body("content"))
    }
    for (path, status, count) in [("/", 200, 1), ("/sent", 502, 2)] {
      #expect(try await rig.client.execute(Request(.post, url: "http://device\(path)")).status.code == status)
      #expect(seen.count == count)
    }
    #expect(await rig.plugins[0].status.figures.failures == [.refused: 2])
    #expect(try await eventually { await rig.plugins[0].runningExchanges == 0 })
    await rig.stop()
    await plugin.stop()
  }

  @Test("a plugin with start=now whose next hop cannot be opened is in the log, and the first request tries again")
  func startFails() async throws {
    let folder = try TemporaryFolder()
    let log = LogRecord()
    let rig = try await PluginRig(
      ["exec:/nonexistent/addon"], in: folder, settings: { $0.start = .now }, logger: log.logger, hops: "later"
    ) { _ in
      Response(status: .ok)
    }
    await rig.plugins[0].start()
    let line = try #require(log.entries.first { $0.message == "A plugin cannot be started" })
    #expect(line.level == .warning && line.context["plugin"] == "plugin-0")
    #expect("\(line.metadata["reason"] ?? "")".contains("later"))
    #expect(mkdir(folder["later"], 0o700) == 0)
    let text = try await rig.client.get("http://device/").text
    #expect(text.contains("/nonexistent/addon"), "\(text)")
    #expect(folder.names.contains("later"))
    await rig.stop()
  }
}
