import Byway
import BywayPlugins
import BywayProxy
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

/// Messages that stream through a plugin, over both HTTP versions.
@Suite("Streaming through plugins", .timeLimit(.minutes(1))) struct PluginStreamingTests {
  /// A plugin that sends everything on unchanged, over one HTTP version in both directions.
  private func withPlugin(
    _ http: String, origin: @escaping @Sendable (Request) async throws -> Response,
    _ body: (PluginRig) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops(http: http)
    let address = "unix:\(folder["plugin.sock"])"
    var gateway: TestPlugin?
    var server: LocalServer?
    if http == "2" {
      gateway = try await TestPlugin(in: folder) { try await hops.forward($0) }
    } else {
      server = try await LocalServer.start(on: PluginRig.transports.link(address), logger: PluginRig.quiet) {
        try await hops.forward($0)
      }
    }
    let rig = try await PluginRig(["\(address)?http=\(http)"], in: folder, origin: origin)
    try await body(rig)
    await rig.stop()
    await gateway?.stop()
    await server?.stop()
  }

  @Test("each chunk of a response passes before the next one exists", arguments: ["2", "1.1"])
  func response(_ http: String) async throws {
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    try await withPlugin(http) { _ in
      Response(status: .ok, fields: [.contentType: "text/event-stream"], body: Body(chunks))
    } _: { rig in
      let response = try await rig.client.get("http://device/events")
      var iterator = response.body.makeAsyncIterator()
      try await expectEcho(["one", "two", "three"], sender, &iterator)
    }
  }

  @Test("each chunk of a request passes before the next one exists", arguments: ["2", "1.1"])
  func request(_ http: String) async throws {
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    try await withPlugin(http) { request in
      Response(status: .ok, body: request.body)
    } _: { rig in
      sender.yield(ByteBuffer(string: "one"))
      let response = try await rig.client.execute(Request(.post, url: "http://device/", body: Body(chunks)))
      var iterator = response.body.makeAsyncIterator()
      #expect(try await iterator.next() == ByteBuffer(string: "one"))
      try await expectEcho(["two", "three"], sender, &iterator)
    }
  }

  @Test("trailers and 103 (Early Hints) pass", arguments: ["2", "1.1"])
  func fields(_ http: String) async throws {
    try await withPlugin(http) { request in
      request.onInformational?(HTTPResponse(status: .earlyHints, headerFields: [.marked: "</a.css>"]))
      var body = request.body.makeAsyncIterator()
      while try await body.next() != nil {}
      let trailers = await request.body.trailers()
      return Response(
        status: .ok, body: Body(AsyncStream.of("chunk"), trailers: { trailers }))
    } _: { rig in
      let hints = Mutex<[String]>([])
      var request = try Request(
        .post, url: "http://device/",
        body: Body(AsyncStream.of("chunk"), trailers: { [.marked: "in the trailers"] }))
      request.head.headerFields[.te] = "trailers"
      request.onInformational = { response in
        if response.status == .earlyHints { hints.withLock { $0.append(response.headerFields[.marked] ?? "") } }
      }
      let response = try await rig.client.execute(request)
      #expect(try await response.text == "chunk")
      #expect(await response.body.trailers()?[.marked] == "in the trailers")
      #expect(hints.withLock(\.self) == ["</a.css>"])
    }
  }

  @Test("a WebSocket passes", arguments: ["2", "1.1"])
  func webSocket(_ http: String) async throws {
    try await withPlugin(http) { request in
      #expect(request.head.method == .connect && request.head.extendedConnectProtocol == "websocket")
      return Response(status: .ok, body: request.body)
    } _: { rig in
      try await rig.expectWebSocketEcho(["ping", "pong"])
    }
  }

  @Test("a client that does not read stops the origin", arguments: ["2", "1.1"])
  func backPressure(_ http: String) async throws {
    let sent = Mutex(0)
    try await withPlugin(http) { _ in
      Response(
        status: .ok,
        body: Body(
          AsyncStream<ByteBuffer> {
            let number = sent.withLock { sent in
              sent += 1
              return sent
            }
            return number > 2000 ? nil : ByteBuffer(repeating: 0, count: 64 << 10)
          }))
    } _: { rig in
      let response = try await rig.client.get("http://device/")
      try await settled(for: .milliseconds(300)) { sent.withLock(\.self) }
      // 125 MiB exist, and windows and sockets hold a few.
      #expect(sent.withLock(\.self) < 1000)
      var size = 0
      for try await chunk in response.body { size += chunk.readableBytes }
      #expect(size == 2000 * (64 << 10))
    }
  }

  @Test("a client that goes away ends the request at the origin", arguments: ["2", "1.1"])
  func cancellation(_ http: String) async throws {
    let (ended, end) = AsyncStream.makeStream(of: Void.self)
    try await withPlugin(http) { _ in
      let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
      sender.yield(ByteBuffer(string: "first"))
      sender.onTermination = { _ in end.yield() }
      return Response(status: .ok, body: Body(chunks))
    } _: { rig in
      do {
        let response = try await rig.client.get("http://device/")
        var iterator = response.body.makeAsyncIterator()
        #expect(try await iterator.next() == ByteBuffer(string: "first"))
      }
      for await _ in ended { break }
      #expect(try await eventually { await rig.plugins[0].runningExchanges == 0 })
    }
  }
}

extension AsyncStream<ByteBuffer> {
  static func of(_ chunks: String...) -> AsyncStream<ByteBuffer> {
    AsyncStream { continuation in
      for chunk in chunks { continuation.yield(ByteBuffer(string: chunk)) }
      continuation.finish()
    }
  }
}
