import Byway
import BywayPlugins
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

@Suite("Plugins", .timeLimit(.minutes(1))) struct PluginTests {
  @Test("a plugin changes a request on its way, and the response on its way back")
  func forwards() async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let plugin = try await TestPlugin(in: folder) { request in
      var request = request
      request.head.headerFields[.marked] = "request"
      var response = try await hops.forward(request)
      response.head.headerFields[.marked] = "response"
      return response
    }
    let seen = Mutex<[HTTPRequest]>([])
    let rig = try await PluginRig([plugin.address], in: folder) { request in
      seen.withLock { $0.append(request.head) }
      let body = String(buffer: try await request.body.collect(upTo: 100))
      return Response(status: .ok, body: Body("the origin has read: \(body)"))
    }
    let response = try await rig.client.execute(Request(.post, url: "http://device/path?q", body: Body("hello")))
    #expect(response.fields[.marked] == "response")
    #expect(try await response.text == "the origin has read: hello")
    let heads = seen.withLock(\.self)
    let head = try #require(heads.first)
    #expect(head.path == "/path?q" && head.authority == "device" && head.method == .post)
    #expect(head.headerFields[.marked] == "request")
    #expect(head.headerFields[.bywayExchange] == nil && head.headerFields[.bywayNext] == nil)
    #expect(try await eventually { await rig.plugins[0].runningExchanges == 0 })
    await rig.stop()
    await plugin.stop()
  }

  /// A plugin that marks requests with its name.
  private func marking(_ name: String, in folder: TemporaryFolder) async throws -> TestPlugin {
    let hops = NextHops()
    return try await TestPlugin(in: folder, name: name) { request in
      var request = request
      request.head.headerFields.append(HTTPField(name: .marked, value: name))
      return try await hops.forward(request)
    }
  }

  @Test("plugins get a request in their order, and each continues with the next one")
  func order() async throws {
    let folder = try TemporaryFolder()
    let plugins = [try await marking("a", in: folder), try await marking("b", in: folder)]
    let rig = try await PluginRig(plugins.map(\.address), in: folder) { request in
      Response(status: .ok, body: Body(request.head.headerFields[values: .marked].joined(separator: " ")))
    }
    #expect(try await rig.client.get("http://device/").text == "a b")
    await rig.stop()
    for plugin in plugins { await plugin.stop() }
  }

  @Test("a plugin can answer, and then the origin gets nothing")
  func answers() async throws {
    let folder = try TemporaryFolder()
    let plugin = try await TestPlugin(in: folder) { _ in Response(status: .notFound, body: Body("from the plugin")) }
    let rig = try await PluginRig([plugin.address], in: folder) { _ in
      Issue.record("a request has reached the origin")
      return Response(status: .ok)
    }
    let response = try await rig.client.get("http://device/")
    #expect(response.status == .notFound)
    #expect(try await response.text == "from the plugin")
    await rig.stop()
    await plugin.stop()
  }

  @Test("a request out of its scope does not reach the plugin, and does not start it")
  func scope() async throws {
    let folder = try TemporaryFolder()
    let rig = try await PluginRig(["exec:/bin/false"], in: folder) { settings in
      settings.scope.paths = ["/api"]
      settings.timeout = .milliseconds(500)
    } origin: { _ in
      Response(status: .ok)
    }
    #expect(try await rig.client.get("http://device/apiary").status == 200)
    #expect(!folder.names.contains("next-0.sock"))
    #expect(try await rig.client.get("http://device/api/x").status == 502)
    #expect(try folder.permissions(of: "next-0.sock") == 0o600)
    await rig.stop()
    #expect(!folder.names.contains("next-0.sock"))
  }

  @Test("a tunnel of CONNECT passes a plugin only if its scope has that method", arguments: [false, true])
  func connect(_ isInScope: Bool) async throws {
    let folder = try TemporaryFolder()
    let plugin = try await TestPlugin(in: folder) { _ in Response(status: .notFound) }
    let plugins = try await PluginRig([plugin.address], in: folder) { settings in
      if isInScope { settings.scope.methods = [.connect] }
    } origin: { _ in
      Response(status: .ok)
    }
    let next = Next([plugins.plugins[0]]) { _ in Response(status: .ok, body: Body("tunnel")) }
    let head = HTTPRequest(method: .connect, scheme: nil, authority: "device:443", path: nil)
    let seen = try? await next(Request(head)).text
    #expect((seen == "tunnel") == !isInScope)
    #expect(await plugins.plugins[0].status.figures.requests == (isInScope ? 1 : 0))
    await plugins.stop()
    await plugin.stop()
  }

  @Test("the next hop takes no request without the token of a running exchange")
  func tokens() async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let last = Mutex<Request?>(nil)
    let plugin = try await TestPlugin(in: folder) { request in
      last.withLock { $0 = request }
      var bare = request
      bare.head.headerFields[.bywayExchange] = nil
      #expect(try await hops.forward(bare).status == .forbidden)
      // Its own requests belong to the exchange as well.
      var own = request
      own.head.path = "/own"
      _ = try await hops.forward(own).text
      return try await hops.forward(request)
    }
    let paths = Mutex<[String]>([])
    let rig = try await PluginRig([plugin.address], in: folder) { request in
      paths.withLock { $0.append(request.head.path ?? "") }
      return Response(status: .ok, body: Body("content"))
    }
    #expect(try await rig.client.get("http://device/").text == "content")
    #expect(paths.withLock(\.self) == ["/own", "/"])
    #expect(try await eventually { await rig.plugins[0].runningExchanges == 0 })

    let request = last.withLock(\.self)
    var late = try #require(request)
    #expect(late.head.headerFields[.bywayExchange]?.utf8.count == 32)
    #expect(try await hops.forward(late).status == .forbidden)
    late.head.headerFields[.bywayExchange] = nil
    let response = try await hops.forward(late)
    #expect(response.status == .forbidden)
    #expect(try await response.text.contains("byway-exchange"))
    #expect(paths.withLock(\.count) == 2)
    await rig.stop()
    await plugin.stop()
  }

  @Test("the token of an exchange is valid until the end of its response")
  func longExchange() async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    let asked = Mutex<Request?>(nil)
    let plugin = try await TestPlugin(in: folder) { request in
      asked.withLock { $0 = request }
      return Response(status: .ok, body: Body(chunks))
    }
    let rig = try await PluginRig([plugin.address], in: folder) { _ in Response(status: .ok, body: Body("content")) }
    sender.yield(ByteBuffer(string: "first"))
    let response = try await rig.client.get("http://device/")
    var iterator = response.body.makeAsyncIterator()
    #expect(try await iterator.next() == ByteBuffer(string: "first"))
    #expect(await rig.plugins[0].runningExchanges == 1)
    let latest = asked.withLock(\.self)
    let own = try #require(latest)
    #expect(try await hops.forward(own).text == "content")
    sender.finish()
    #expect(try await iterator.next() == nil)
    #expect(try await eventually { await rig.plugins[0].runningExchanges == 0 })
    #expect(try await hops.forward(own).status == .forbidden)
    await rig.stop()
    await plugin.stop()
  }

  @Test("a plugin that sends requests to the beginning of the chain gets 508", arguments: [false, true])
  func loops(_ dropsVia: Bool) async throws {
    let folder = try TemporaryFolder()
    let front = Mutex<BywayClient?>(nil)
    let plugin = try await TestPlugin(in: folder) { request in
      var request = request
      if dropsVia { request.head.headerFields[.via] = nil }
      let response = try await front.withLock { $0 }?.execute(request)
      return Response(status: response?.status ?? .ok)
    }
    let rig = try await PluginRig([plugin.address], in: folder) { _ in Response(status: .ok) }
    front.withLock { $0 = rig.client }
    #expect(try await rig.client.get("http://device/").status == 508)
    front.withLock { $0 = nil }
    // The gateway detects the loop by Via, and the plugin's own hop detects it otherwise.
    let figures = await rig.plugins[0].status.figures
    #expect(figures.requests == (dropsVia ? 2 : 1) && figures.failures == (dropsVia ? [.loop: 1] : [:]))
    await rig.stop()
    await plugin.stop()
  }

  @Test("a plugin does not see credentials for the proxy, and they continue without it")
  func credentials() async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let seen = Mutex<[String]>([])
    let plugin = try await TestPlugin(in: folder) { request in
      seen.withLock { $0.append(contentsOf: request.head.headerFields[values: .proxyAuthorization]) }
      return try await hops.forward(request)
    }
    let rig = try await PluginRig([plugin.address], in: folder) { _ in Response(status: .ok) }
    let next = Next([rig.plugins[0]]) { request in
      Response(status: .ok, body: Body(request.head.headerFields[.proxyAuthorization] ?? "none"))
    }
    var request = try Request(url: "http://device/")
    request.head.headerFields[.proxyAuthorization] = "Basic c2VjcmV0"
    #expect(try await next(request).text == "Basic c2VjcmV0")
    #expect(seen.withLock(\.self).isEmpty)
    await rig.stop()
    await plugin.stop()
  }
}
