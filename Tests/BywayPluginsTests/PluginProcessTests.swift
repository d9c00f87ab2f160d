import Byway
import BywayPlugins
import Glibc
import HTTPTypes
import NIOCore
import NIOPosix
import Synchronization
import TestPeers
import TestTools
import Testing

/// Several requests at once, several plugins, and the start and end of programs.
@Suite("Processes of plugins", .timeLimit(.minutes(1))) struct PluginProcessTests {
  /// A program with the library for addons, after the commands of a shell.
  private static func addon(_ commands: String, in folder: TemporaryFolder) throws -> String {
    let addon = try folder.write(
      "import sys\nsys.path.insert(0, \"\(PythonAddonTests.python)\")\nimport byway_addon\nbyway_addon.run()\n",
      to: "addon.py")
    let file = try folder.write("\(commands)\nexec \(Program.python.path()) -B \(addon)\n", to: "start.sh")
    return "exec:/bin/sh \(file)"
  }

  /// A shell program that answers one request after the other over HTTP/1.1, with its process id and a text.
  private static func responder(_ text: String, in folder: TemporaryFolder, _ name: String) throws -> String {
    try shell(
      """
      while IFS= read -r line; do
        if [ "$line" = "$(printf '\\r')" ]; then
          text="$$ \(text)"
          printf 'HTTP/1.1 200 OK\\r\\ncontent-length: %d\\r\\n\\r\\n%s' ${#text} "$text"
        fi
      done

      """, in: folder, name)
  }

  /// Returns the address of a shell program that speaks HTTP/1.1.
  private static func shell(_ text: String, in folder: TemporaryFolder, _ name: String = "program.sh") throws -> String
  {
    "exec:/bin/sh \(try folder.write(text, to: name))?http=1.1"
  }

  private static func lines(of name: String, in folder: TemporaryFolder) -> Int {
    guard let file = fopen(folder[name], "r") else { return 0 }
    defer { fclose(file) }
    var count = 0
    while true {
      let character = fgetc(file)
      if character == EOF { return count }
      if character == 10 { count += 1 }
    }
  }

  @Test("the environment of each program has the address of its own next hop, which is private")
  func environment() async throws {
    let folder = try TemporaryFolder()
    let addresses = try (0..<2).map { try Self.responder("$BYWAY_NEXT", in: folder, "next-\($0).sh") }
    let rig = try await PluginRig(addresses, in: folder) { _ in Response(status: .ok) }
    for (index, plugin) in rig.plugins.enumerated() {
      let text = try await Next([plugin]) { _ in Response(status: .ok) }(Request(url: "http://device/")).text
      #expect(text.hasSuffix("\(folder["./next-\(index).sock"])"), "\(text)")
      #expect(try folder.permissions(of: "next-\(index).sock") == 0o600)
    }
    await rig.stop()
  }

  @Test("a program that speaks HTTP/1.1 answers several requests, and further ones at once are no restarts")
  func reused() async throws {
    let folder = try TemporaryFolder()
    let rig = try await PluginRig([Self.responder("x", in: folder, "a.sh")], in: folder) { _ in Response(status: .ok) }
    let plugin = rig.plugins[0]
    var answers: Set<String> = []
    for method in [HTTPRequest.Method.get, .post, .get] {
      answers.insert(try await rig.client.execute(Request(method, url: "http://device/")).text)
    }
    #expect(answers.count == 1, "\(answers)")
    let texts = (0..<4).map { _ in Task { try await rig.client.get("http://device/").text } }
    for text in texts { #expect(try await text.value.hasSuffix(" x")) }
    let status = await plugin.status
    #expect(status.restarts == 0 && status.figures.requests == 7 && status.running == 0)
    #expect(status.link == "exec:/bin/sh" && status.name == "plugin-0")
    #expect((1...5).contains(status.processIDs.count))
    await rig.stop()
    #expect(try await eventually { await plugin.status.processIDs.isEmpty })
  }

  @Test("concurrent first requests start a program once, and its first start is no restart")
  func startedOnce() async throws {
    let folder = try TemporaryFolder()
    let rig = try await PluginRig([Self.addon("echo x >> \(folder["count"])", in: folder)], in: folder) { _ in
      Response(status: .ok, body: Body("content"))
    }
    let texts = (0..<8).map { _ in Task { try await rig.client.get("http://device/").text } }
    for text in texts { #expect(try await text.value == "content") }
    #expect(Self.lines(of: "count", in: folder) == 1)
    let status = await rig.plugins[0].status
    #expect(status.restarts == 0 && status.processIDs.count == 1 && status.figures.requests == 8)
    #expect(status.figures.failures.isEmpty)
    await rig.stop()
  }

  @Test(
    "a program that ends at its start is started again, by itself with start=now, and otherwise by the next request")
  func startedAgain() async throws {
    for start in PluginSettings.Start.allCases {
      let folder = try TemporaryFolder()
      let count = folder["count"]
      let address = try Self.addon("echo x >> \(count); [ $(wc -l < \(count)) -gt 2 ] || exit 1", in: folder)
      let rig = try await PluginRig([address], in: folder) {
        $0.start = start
      } origin: { _ in
        Response(status: .ok, body: Body("content"))
      }
      let plugin = rig.plugins[0]
      await plugin.start()
      if start == .now { #expect(try await eventually { await plugin.status.restarts == 2 }) }
      // A request that starts a program fails with it, and the next one starts it again.
      #expect(try await eventually { try await rig.client.get("http://device/").text == "content" })
      let status = await plugin.status
      #expect(Self.lines(of: "count", in: folder) == 3 && status.restarts == 2, "\(status)")
      #expect(Set(status.figures.failures.keys).isSubset(of: start == .now ? [] : [.unavailable]))
      await rig.stop()
    }
  }

  @Test(
    "a program that ends with its input gets no signal, and one that does not gets SIGTERM before SIGKILL",
    arguments: [false, true])
  func signals(_ ignoresEnd: Bool) async throws {
    let folder = try TemporaryFolder()
    // The shell runs the trap when the current command has ended.
    let program = try Self.shell(
      """
      trap 'echo x >> \(folder["term"]); exit 0' TERM
      while IFS= read -r line; do
        [ "$line" = "$(printf '\\r')" ] && printf 'HTTP/1.1 200 OK\\r\\ncontent-length: 0\\r\\n\\r\\n'
      done
      echo x >> \(folder["end"])
      \(ignoresEnd ? "while :; do sleep 0.05; done" : "exit 0")

      """, in: folder)
    let rig = try await PluginRig([program], in: folder) { _ in Response(status: .notFound) }
    let plugin = rig.plugins[0]
    #expect(try await rig.client.get("http://device/").status == 200)
    #expect(await plugin.status.processIDs.count == 1)
    await plugin.shutDown(within: .seconds(600))
    #expect(Self.lines(of: "end", in: folder) == 1)
    #expect(Self.lines(of: "term", in: folder) == (ignoresEnd ? 1 : 0))
    #expect(await plugin.status.processIDs.isEmpty)
    await rig.stop()
  }

  @Test("a program with an exchange that does not end gets SIGTERM before SIGKILL")
  func signalOfRunning() async throws {
    let folder = try TemporaryFolder()
    let program = try Self.shell(
      """
      trap 'echo x >> \(folder["term"]); exit 0' TERM
      while IFS= read -r line; do
        [ "$line" = "$(printf '\\r')" ] && echo x >> \(folder["asked"])
      done
      while :; do sleep 0.05; done

      """, in: folder)
    let rig = try await PluginRig([program], in: folder) { _ in Response(status: .ok) }
    let plugin = rig.plugins[0]
    let response = Task { try await rig.client.get("http://device/").status }
    #expect(try await eventually { Self.lines(of: "asked", in: folder) == 1 })
    await plugin.shutDown(within: .zero)
    #expect(try await response.value == 502)
    #expect(Self.lines(of: "term", in: folder) == 1)
    #expect(await plugin.status.processIDs.isEmpty)
    await rig.stop()
  }

  @Test("requests that arrive while a removed plugin ends wait for that, and start it again")
  func lateWhileEnding() async throws {
    let folder = try TemporaryFolder()
    // The program continues after the end of its input, until the test lets it end.
    let program = try Self.shell(
      """
      echo x >> \(folder["start"])
      while IFS= read -r line; do
        [ "$line" = "$(printf '\\r')" ] && printf 'HTTP/1.1 200 OK\\r\\ncontent-length: 0\\r\\n\\r\\n'
      done
      echo x >> \(folder["end"])
      while ! [ -e \(folder["go"]) ]; do sleep 0.02; done

      """, in: folder)
    let rig = try await PluginRig([program], in: folder) { _ in Response(status: .notFound) }
    let plugin = rig.plugins[0]
    #expect(try await rig.client.get("http://device/").status == 200)
    let end = Task { await plugin.shutDown(within: .seconds(600)) }
    #expect(try await eventually { Self.lines(of: "end", in: folder) == 1 })
    let responses = (1...3).map { _ in Task { try await rig.client.get("http://device/").status } }
    #expect(try await eventually { await plugin.status.figures.requests == 4 })
    // A client that leaves does not end the wait of the others.
    responses[2].cancel()
    #expect(Self.lines(of: "start", in: folder) == 1)
    try folder.write("", to: "go")
    for response in responses.dropLast() { #expect(try await response.value == 200) }
    await end.value
    #expect(await plugin.status.figures.failures.isEmpty)
    #expect(try await eventually { await plugin.status.processIDs.isEmpty })
    #expect(try await eventually { !folder.names.contains("next-0.sock") })
    await rig.stop()
  }

  @Test("without start=now, a program that has ended is not started before the next request")
  func notRestarted() async throws {
    let folder = try TemporaryFolder()
    let rig = try await PluginRig([Self.addon("echo x >> \(folder["count"])", in: folder)], in: folder) { _ in
      Response(status: .ok)
    }
    let plugin = rig.plugins[0]
    #expect(try await rig.client.get("http://device/").status == 200)
    kill(try #require(await plugin.status.processIDs.first), SIGKILL)
    #expect(try await eventually { await plugin.status.processIDs.isEmpty })
    // A program that is kept running starts again after 0.1 s.
    try await settled(for: .milliseconds(500)) { Self.lines(of: "count", in: folder) }
    #expect(Self.lines(of: "count", in: folder) == 1)
    #expect(try await eventually { try await rig.client.get("http://device/").status == 200 })
    #expect(Self.lines(of: "count", in: folder) == 2)
    await rig.stop()
  }

  /// Answers each request on a connection, and counts the connections.
  private final class CountedServer: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    private let count: RequestCount

    init(_ count: RequestCount) {
      self.count = count
    }

    func channelActive(context: ChannelHandlerContext) { count.add() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let answer = ByteBuffer(string: "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
      context.writeAndFlush(NIOAny(answer), promise: nil)
    }
  }

  @Test("a server that speaks HTTP/1.1 gets each request on a connection of its own, because a kept one may be closing")
  func connections() async throws {
    let folder = try TemporaryFolder()
    let count = RequestCount()
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { $0.pipeline.addHandler(CountedServer(count)) }
      .bind(unixDomainSocketPath: folder["server.sock"]).get()
    let rig = try await PluginRig(["unix:\(folder["server.sock"])?http=1.1"], in: folder) { _ in
      Response(status: .notFound)
    }
    for number in 1...3 {
      #expect(try await rig.client.get("http://device/").status == 200)
      #expect(count.count == number)
    }
    await rig.stop()
    try await server.close()
  }

  @Test("40 requests pass a plugin at the same time, each over its own connection to the next hop")
  func concurrent() async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let plugin = try await TestPlugin(in: folder) { try await hops.forward($0) }
    let arrived = RequestCount()
    let isOpen = Mutex(false)
    let rig = try await PluginRig([plugin.address], in: folder) { request in
      arrived.add()
      _ = try await eventually { isOpen.withLock(\.self) }
      return Response(status: .ok, body: Body(request.head.path ?? ""))
    }
    let texts = (0..<40).map { number in Task { try await rig.client.get("http://device/\(number)").text } }
    #expect(try await eventually { arrived.count == 40 })
    #expect(await rig.plugins[0].runningExchanges == 40)
    #expect(await rig.plugins[0].status.running == 40)
    isOpen.withLock { $0 = true }
    for (number, text) in texts.enumerated() { #expect(try await text.value == "/\(number)") }
    #expect(try await eventually { await rig.plugins[0].status.running == 0 })
    #expect(await rig.plugins[0].status.figures.requests == 40)
    await rig.stop()
    await plugin.stop()
  }

  @Test("each plugin gets a token and a next hop of its own, whatever the client sends, and the origin gets neither")
  func ownFields() async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let seen = Mutex<[HTTPFields]>([])
    var plugins: [TestPlugin] = []
    for name in ["a", "b"] {
      plugins.append(
        try await TestPlugin(in: folder, name: name) { request in
          seen.withLock { $0.append(request.head.headerFields) }
          return try await hops.forward(request)
        })
    }
    let rig = try await PluginRig(plugins.map(\.address), in: folder) { _ in Response(status: .ok) }
    let next = Next([rig.plugins[0], rig.plugins[1]]) { request in
      #expect(!request.head.headerFields.contains { $0.name.canonicalName.hasPrefix("byway-") })
      return Response(status: .ok)
    }
    var request = try Request(url: "http://device/")
    for value in ["forged", "again"] {
      request.head.headerFields.append(HTTPField(name: .bywayExchange, value: value))
      request.head.headerFields.append(HTTPField(name: .bywayNext, value: value))
    }
    #expect(try await next(request).status == .ok)
    let fields = seen.withLock(\.self)
    let tokens = fields.map { $0[values: .bywayExchange] }
    #expect(
      tokens.count == 2 && tokens.allSatisfy { $0.count == 1 && $0[0].utf8.count == 32 } && tokens[0] != tokens[1])
    let nexts = fields.map { $0[values: .bywayNext].map { $0.suffix(11) } }
    #expect(nexts == [["next-0.sock"], ["next-1.sock"]])
    await rig.stop()
    for plugin in plugins { await plugin.stop() }
  }

  @Test("a request upgrades at a plugin's next hop to an allowed protocol, and to no other", arguments: [true, false])
  func upgrades(_ isAllowed: Bool) async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let plugin = try await TestPlugin(in: folder) { request in
      var request = request
      if request.head.path == "/upgrade" {
        request.head.method = .connect
        request.head.extendedConnectProtocol = "custom"
      }
      return try await hops.forward(request)
    }
    let rig = try await PluginRig(
      [plugin.address], in: folder, upgrades: isAllowed ? [UpgradeProtocol("custom")] : []
    ) { _ in
      Response(status: .ok)
    }
    let next = Next([rig.plugins[0]]) { request in
      Response(status: .ok, body: Body(request.head.extendedConnectProtocol ?? "none"))
    }
    #expect(try await next(Request(url: "http://device/")).text == "none")
    let text = try? await next(Request(url: "http://device/upgrade")).text
    #expect((text == "custom") == isAllowed, "\(text ?? "no response")")
    await rig.stop()
    await plugin.stop()
  }

  @Test("the method of a request that upgrades passes a plugin")
  func upgradeMethod() async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let plugin = try await TestPlugin(in: folder) { try await hops.forward($0) }
    let rig = try await PluginRig([plugin.address], in: folder) { _ in Response(status: .ok) }
    let method = try #require(HTTPField.Name("byway-upgrade-method"))
    let next = Next([rig.plugins[0]]) { request in
      Response(status: .ok, body: Body(request.head.headerFields[method] ?? "none"))
    }
    var head = HTTPRequest(method: .connect, scheme: "http", authority: "device", path: "/socket")
    head.extendedConnectProtocol = "websocket"
    head.headerFields[method] = "POST"
    #expect(try await next(Request(head)).text == "POST")
    await rig.stop()
    await plugin.stop()
  }

  @Test("a plugin decides whether 103 (Early Hints) of the next hop reach the client", arguments: [true, false])
  func hints(_ passes: Bool) async throws {
    let folder = try TemporaryFolder()
    let hops = NextHops()
    let plugin = try await TestPlugin(in: folder) { request in
      var request = request
      if !passes { request.onInformational = nil }
      return try await hops.forward(request)
    }
    let rig = try await PluginRig([plugin.address], in: folder) { _ in Response(status: .ok) }
    let count = RequestCount()
    let next = Next([rig.plugins[0]]) { request in
      request.onInformational?(HTTPResponse(status: .earlyHints))
      // A final response that comes at once could overtake it.
      let hasCome = passes ? try await eventually { count.count == 1 } : true
      #expect(hasCome)
      return Response(status: .ok)
    }
    var request = try Request(url: "http://device/")
    request.onInformational = { if $0.status == .earlyHints { count.add() } }
    #expect(try await next(request).status == .ok)
    #expect(count.count == (passes ? 1 : 0))
    await rig.stop()
    await plugin.stop()
  }
}
