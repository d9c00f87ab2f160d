import Byway
import BywayPlugins
import Glibc
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

/// Requests whose plugin fails.
@Suite("Failing plugins", .timeLimit(.minutes(2))) struct PluginFailureTests {
  /// Commands whose output is no HTTP/2, or that never answer, and a program that does not exist.
  static let broken = [
    "exec:/usr/bin/yes garbage", "exec:/bin/sleep 1000", "exec:/bin/false", "exec:/nonexistent/addon",
    "unix:/nonexistent/a.sock",
    "exec:/usr/bin/yes garbage?http=1.1", "exec:/bin/sleep 1000?http=1.1",
  ]

  private func rig(
    _ address: String, _ policy: PluginSettings.FailurePolicy, timeout: TimeAmount = .milliseconds(500),
    _ seen: RequestCount = RequestCount()
  ) async throws -> PluginRig {
    try await PluginRig([address], in: TemporaryFolder()) { settings in
      settings.onFailure = policy
      settings.timeout = timeout
    } origin: { request in
      seen.add()
      return Response(status: .ok, body: Body(try await request.body.collect(upTo: 1 << 20)))
    }
  }

  /// A plugin that takes requests and never answers, and a rig that uses it.
  private struct Silent {
    let folder: TemporaryFolder
    let plugin: TestPlugin
    /// Has an element for each request when the plugin has done its part.
    let arrived: AsyncStream<Void>
    let seen: RequestCount
    let rig: PluginRig

    /// The plugin before an origin that counts requests.
    var next: Next {
      Next([rig.plugins[0]]) { [seen] _ in
        seen.add()
        return Response(status: .ok)
      }
    }

    func stop() async {
      await rig.stop()
      await plugin.stop()
    }
  }

  /// - Parameter part: what the plugin does with a request.
  private func silent(_ part: @escaping @Sendable (Request) async throws -> Void = { _ in }) async throws -> Silent {
    let folder = try TemporaryFolder()
    let (arrived, arrival) = AsyncStream.makeStream(of: Void.self)
    let plugin = try await TestPlugin(in: folder) { request in
      try await part(request)
      arrival.yield()
      try await untilCancelled()
      return Response(status: .ok)
    }
    let seen = RequestCount()
    let rig = try await rig(plugin.address, .bypass, timeout: .seconds(60), seen)
    return Silent(folder: folder, plugin: plugin, arrived: arrived, seen: seen, rig: rig)
  }

  @Test("a request whose plugin gives no answer fails with 502, which names the plugin", arguments: broken)
  func refused(_ address: String) async throws {
    let seen = RequestCount()
    let rig = try await rig(address, .refuse, seen)
    let response = try await rig.client.execute(Request(.post, url: "http://device/", body: Body("hello")))
    #expect(response.status == 502)
    #expect(try await response.text.contains("The plugin plugin-0 did not answer"))
    #expect(seen.count == 0)
    await rig.stop()
  }

  @Test("the reason for a dead socket names the plugin and what to start, and not the commands of Byway")
  func dead() async throws {
    let folder = try TemporaryFolder()
    close(try bindUnixSocket(at: folder["dead"]))
    let file = try folder.write("", to: "file")
    let cases = [
      (
        "unix:\(folder["dead"])",
        "Nothing listens on \(folder["dead"]): its owner has ended. Start the program of the plugin plugin-0 again."
      ),
      (
        "unix:\(folder["none"])",
        "There is no socket \(folder["none"]): start the program of the plugin plugin-0 there, or correct the path."
      ),
      ("unix:\(folder["none/a"])", "start the program of the plugin plugin-0, or correct the path."),
      ("unix:\(file)", "correct the path of the link, or that of the program of the plugin plugin-0."),
      ("tcp://127.0.0.1:1", "start the program of the plugin plugin-0 there, or check the port."),
    ]
    for (address, reason) in cases {
      for http in ["2", "1.1"] {
        let rig = try await rig("\(address)?http=\(http)", .refuse, timeout: .seconds(60))
        let text = try await rig.client.get("http://device/").text
        #expect(text.contains("The plugin plugin-0 did not answer: ") && text.contains(reason), "\(text)")
        #expect(!text.contains("a gateway"), "\(text)")
        await rig.stop()
      }
    }
  }

  @Test("on-failure=bypass sends the request on without the plugin, with its body", arguments: broken)
  func bypassed(_ address: String) async throws {
    let seen = RequestCount()
    let rig = try await rig(address, .bypass, seen)
    let response = try await rig.client.execute(
      Request(.post, url: "http://device/", body: .once("hel", "lo")))
    #expect(response.status == 200)
    #expect(try await response.text == "hello")
    #expect(seen.count == 1)
    await rig.stop()
  }

  @Test("a body that the plugin has read, and that is too long to be kept, is not sent without the plugin")
  func tooLong() async throws {
    let silent = try await silent { request in
      var size = 0
      for try await chunk in request.body {
        size += chunk.readableBytes
        if size > 100_000 { break }
      }
    }
    let chunks = Array(repeating: String(repeating: "x", count: 10_000), count: 40)
    async let response = silent.rig.client.execute(Request(.post, url: "http://device/", body: .once(chunks)))
    for await _ in silent.arrived { break }
    await silent.plugin.stop()
    #expect(try await response.status == 502)
    #expect(silent.seen.count == 0)
    await silent.rig.stop()
  }

  @Test(
    "a request that a plugin has sent on already is not sent again, unless its method is idempotent",
    arguments: [HTTPRequest.Method.post, .get])
  func onlyOnce(_ method: HTTPRequest.Method) async throws {
    let hops = NextHops()
    let silent = try await silent { _ = try await hops.forward($0) }
    async let response = silent.rig.client.execute(Request(method, url: "http://device/"))
    for await _ in silent.arrived { break }
    await silent.plugin.stop()
    #expect(try await response.status == (method == .get ? 200 : 502))
    #expect(silent.seen.count == (method == .get ? 2 : 1))
    await silent.rig.stop()
  }

  @Test("a request whose own deadline passes is not a failure of the plugin, and does not go on without it")
  func deadline() async throws {
    let silent = try await silent()
    let next = silent.next
    var request = try Request(url: "http://device/")
    request.deadline = .now() + .milliseconds(300)
    let sent = request
    let error = await #expect(throws: (any Error).self) { try await next(sent) }
    #expect(error.map { BywayError($0).code } == .timedOut)
    #expect(await silent.rig.plugins[0].status.figures.failures == [:] && silent.seen.count == 0)
    await silent.stop()
  }

  @Test("a client that leaves is not a failure of the plugin, and its request does not go on")
  func clientLeaves() async throws {
    let silent = try await silent()
    let next = silent.next
    let sent = Task { try await next(Request(url: "http://device/")) }
    for await _ in silent.arrived { break }
    let left = NIODeadline.now()
    sent.cancel()
    await #expect(throws: (any Error).self) { try await sent.value }
    // At once, and not when the time of the plugin is over.
    #expect(NIODeadline.now() - left < .seconds(45))
    #expect(try await eventually { await silent.rig.plugins[0].runningExchanges == 0 })
    #expect(await silent.rig.plugins[0].status.figures.failures == [:] && silent.seen.count == 0)
    await silent.stop()
  }

  @Test("a plugin whose next hop cannot be opened fails the request, and the next request tries again")
  func nextHop() async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let plugin = try await TestPlugin(in: folder) { try await hops.forward($0) }
    let rig = try await PluginRig([plugin.address], in: folder, hops: "later") { _ in
      Response(status: .ok, body: Body("content"))
    }
    #expect(try await rig.client.get("http://device/").status == 502)
    #expect(mkdir(folder["later"], 0o700) == 0)
    #expect(try await rig.client.get("http://device/").text == "content")
    await rig.stop()
    await plugin.stop()
  }

  @Test("the time of a slow origin does not count as the plugin's")
  func slowOrigin() async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let plugin = try await TestPlugin(in: folder) { request in
      if request.head.path == "/hang" { try await untilCancelled() }
      return try await hops.forward(request)
    }
    let (arrived, arrival) = AsyncStream.makeStream(of: Void.self)
    let (gate, opening) = AsyncStream.makeStream(of: Void.self)
    let rig = try await PluginRig([plugin.address], in: folder) {
      $0.timeout = .seconds(10)
    } origin: { _ in
      arrival.yield()
      for await _ in gate { break }
      return Response(status: .ok, body: Body("slow"))
    }
    let slow = Task {
      defer { arrival.finish() }
      return try await rig.client.get("http://device/").text
    }
    for await _ in arrived { break }
    // The limit passes for a later request, and so for the first one.
    #expect(try await rig.client.get("http://device/hang").status == 502)
    opening.yield()
    #expect(try await slow.value == "slow")
    await rig.stop()
    await plugin.stop()
  }
}

/// Counts requests. Safe on any thread.
final class RequestCount: Sendable {
  private let total = Mutex(0)

  var count: Int { total.withLock(\.self) }

  func add() { total.withLock { $0 += 1 } }
}

extension Body {
  /// A body that can be read once, in these chunks.
  static func once(_ chunks: String...) -> Body { once(chunks) }

  static func once(_ chunks: [String]) -> Body {
    let (stream, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
    for chunk in chunks { continuation.yield(ByteBuffer(string: chunk)) }
    continuation.finish()
    return Body(stream)
  }
}
