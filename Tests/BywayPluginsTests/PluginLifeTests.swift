import Byway
import BywayPlugins
import Glibc
import HTTPTypes
import NIOCore
import TestPeers
import TestTools
import Testing

/// Programs of plugins: how often they are asked, started and ended.
@Suite("Life of plugins", .timeLimit(.minutes(2))) struct PluginLifeTests {
  private static func addon(_ text: String, in folder: TemporaryFolder) throws -> String {
    let file = try folder.write(
      "import os, sys\nsys.path.insert(0, \"\(PythonAddonTests.python)\")\nimport byway_addon\n\(text)\n",
      to: "addon.py")
    return "exec:\(try Program.python.path()) -B \(file)"
  }

  /// A program in the shell, with the given commands after the head of a request has been read.
  private static func script(_ text: String, in folder: TemporaryFolder, _ name: String = "addon.sh") throws -> String {
    let file = try folder.write(
      """
      echo x >> \(folder["count"])
      while IFS= read -r line; do [ "$line" = "$(printf '\\r')" ] && break; done
      \(text)

      """, to: name)
    return "exec:/bin/sh \(file)?http=1.1"
  }

  private static func count(in folder: TemporaryFolder) -> Int {
    guard let file = fopen(folder["count"], "r") else { return 0 }
    defer { fclose(file) }
    var count = 0
    while true {
      let character = fgetc(file)
      if character == EOF { return count }
      if character == 10 { count += 1 }
    }
  }

  private static func isRunning(_ process: Int32) -> Bool { kill(process, 0) == 0 }

  // MARK: Asked once

  @Test("a plugin that breaks off its answer to a GET over HTTP/1.1 is asked once")
  func onceHTTP1() async throws {
    let folder = try TemporaryFolder()
    let rig = try await PluginRig([Self.script("exit 0", in: folder)], in: folder) { _ in Response(status: .ok) }
    #expect(try await rig.client.get("http://device/").status == 502)
    #expect(Self.count(in: folder) == 1)
    #expect(await rig.plugins[0].status.figures.failures.values.reduce(0, +) == 1)
    await rig.stop()
  }

  @Test("a plugin that ends in the middle of a GET over HTTP/2 is asked once, and is started again for the next")
  func onceHTTP2() async throws {
    let folder = try TemporaryFolder()
    let address = try Self.addon(
      """
      async def request(flow):
          if flow.request.path == "/end":
              with open("\(folder["count"])", "a") as file:
                  file.write("x\\n")
              os._exit(1)
      byway_addon.run(request=request)
      """, in: folder)
    let rig = try await PluginRig([address], in: folder) { _ in Response(status: .ok) }
    #expect(try await rig.client.get("http://device/end").status == 502)
    #expect(Self.count(in: folder) == 1)
    #expect(try await rig.client.get("http://device/").status == 200)
    let status = await rig.plugins[0].status
    #expect(status.restarts == 1 && status.figures.requests == 2 && status.figures.failures == [.lost: 1])
    await rig.stop()
  }

  @Test("a request that a plugin has refused unprocessed is sent again")
  func refusedStream() async throws {
    let folder = try TemporaryFolder()
    let address = try Self.addon(
      """
      handle = byway_addon._Addon.handle
      seen = []
      async def refuse_first(self, stream):
          seen.append(stream)
          if len(seen) > 1:
              return await handle(self, stream)
          stream.reset(byway_addon.REFUSED_STREAM)
          stream.finish()
      byway_addon._Addon.handle = refuse_first
      async def request(flow):
          flow.reply(200, {}, str(len(seen)))
      byway_addon.run(request=request)
      """, in: folder)
    let rig = try await PluginRig([address], in: folder) { _ in Response(status: .ok) }
    let response = try await rig.client.execute(Request(.post, url: "http://device/", body: Body("x")))
    #expect(try await response.text == "2")
    await rig.stop()
  }

  // MARK: Lasting failures

  @Test(
    "a program that does not exist, or that may not be executed, fails at once",
    arguments: ["/nonexistent/addon", "/etc/passwd", "no-such-command"], ["", "?http=1.1"])
  func lasting(_ program: String, _ options: String) async throws {
    let rig = try await PluginRig(["exec:\(program)\(options)"], in: TemporaryFolder()) {
      // The test would exceed its own time.
      $0.timeout = .hours(1)
    } origin: { _ in
      Response(status: .ok)
    }
    for count in 1...3 {
      let response = try await rig.client.get("http://device/")
      #expect(response.status == 502)
      let text = try await response.text
      #expect(text.contains("plugin-0") && text.contains(program), "\(text)")
      #expect(await rig.plugins[0].status.figures.failures == [.unavailable: count])
    }
    await rig.stop()
  }

  @Test("a program that appears later is started then")
  func appears() async throws {
    let folder = try TemporaryFolder()
    let rig = try await PluginRig(["exec:\(folder["later"])"], in: folder) { _ in Response(status: .ok) }
    #expect(try await rig.client.get("http://device/").status == 502)
    let python = try Program.python.path()
    let file = try folder.write(
      "#!\(python)\nimport sys\nsys.path.insert(0, \"\(PythonAddonTests.python)\")\nimport byway_addon\nbyway_addon.run()\n",
      to: "new")
    chmod(file, 0o700)
    rename(file, folder["later"])
    #expect(try await eventually { try await rig.client.get("http://device/").status == 200 })
    await rig.stop()
  }

  // MARK: Start and end

  @Test("start=now starts a program without a request, and again when it has ended")
  func startNow() async throws {
    let folder = try TemporaryFolder()
    let rig = try await PluginRig([Self.addon("byway_addon.run()", in: folder)], in: folder) {
      $0.start = .now
    } origin: { _ in
      Response(status: .ok)
    }
    let plugin = rig.plugins[0]
    #expect(await plugin.status.isNotStarted)
    await plugin.start()
    #expect(try await eventually { await plugin.status.processIDs.count == 1 })
    let first = try #require(await plugin.status.processIDs.first)
    kill(first, SIGKILL)
    #expect(try await eventually { await plugin.status.processIDs.first.map { $0 != first } ?? false })
    let status = await plugin.status
    #expect(status.restarts >= 1 && status.figures.requests == 0)
    #expect(try await rig.client.get("http://device/").status == 200)
    await rig.stop()
    #expect(try await eventually { await plugin.status.processIDs.isEmpty })
  }

  @Test("the status of a program that cannot be started has the reason, and the time of the next attempt")
  func nextAttempt() async throws {
    let folder = try TemporaryFolder()
    let rig = try await PluginRig(["exec:\(folder["missing"])"], in: folder) {
      $0.start = .now
    } origin: { _ in
      Response(status: .ok)
    }
    let plugin = rig.plugins[0]
    await plugin.start()
    #expect(
      try await eventually {
        if case .starting(reason: .some, next: .some) = await plugin.status.state { true } else { false }
      })
    await rig.stop()
  }

  @Test("without start=now, nothing is started before a request")
  func firstUse() async throws {
    let folder = try TemporaryFolder()
    let rig = try await PluginRig([Self.script("exit", in: folder)], in: folder) { _ in Response(status: .ok) }
    await rig.plugins[0].start()
    #expect(await rig.plugins[0].status.isNotStarted)
    #expect(Self.count(in: folder) == 0)
    await rig.stop()
  }

  @Test("a plugin that is removed finishes its exchange, and its program ends after it")
  func drains() async throws {
    let folder = try TemporaryFolder()
    let (arrived, arrival) = AsyncStream.makeStream(of: Void.self)
    let (gate, opening) = AsyncStream.makeStream(of: Void.self)
    let rig = try await PluginRig([Self.addon("byway_addon.run()", in: folder)], in: folder) { _ in
      arrival.yield()
      for await _ in gate { break }
      return Response(status: .ok, body: Body("slow"))
    }
    let plugin = rig.plugins[0]
    async let response = rig.client.get("http://device/")
    for await _ in arrived { break }
    let process = try #require(await plugin.status.processIDs.first)
    async let end: Void = plugin.shutDown(within: .seconds(600))
    #expect(Self.isRunning(process))
    opening.yield()
    #expect(try await response.text == "slow")
    await end
    #expect(!Self.isRunning(process))
    #expect(!folder.names.contains("next-0.sock"))
    await rig.stop()
  }

  @Test("a request that arrives at a removed plugin is still answered, and leaves nothing behind")
  func late() async throws {
    let folder = try TemporaryFolder()
    let rig = try await PluginRig([Self.addon("byway_addon.run()", in: folder)], in: folder) { _ in
      Response(status: .ok, body: Body("late"))
    }
    let plugin = rig.plugins[0]
    await plugin.shutDown(within: .seconds(60))
    for _ in 1...2 {
      #expect(try await rig.client.get("http://device/").text == "late")
      #expect(try await eventually { await plugin.status.isNotStarted })
      #expect(!folder.names.contains("next-0.sock"))
      #expect(await plugin.status.processIDs.isEmpty)
    }
    await rig.stop()
  }

  @Test("a program that ignores the end of its input and SIGTERM is killed when its time is over")
  func kills() async throws {
    let folder = try TemporaryFolder()
    let address = try Self.addon(
      """
      import signal, time
      signal.signal(signal.SIGTERM, signal.SIG_IGN)
      async def request(flow):
          open("\(folder["asked"])", "w").close()
          time.sleep(1000)
      byway_addon.run(request=request)
      """, in: folder)
    let rig = try await PluginRig([address], in: folder) { _ in Response(status: .ok) }
    let plugin = rig.plugins[0]
    async let response = rig.client.get("http://device/")
    #expect(try await eventually { folder.names.contains("asked") })
    let process = try #require(await plugin.status.processIDs.first)
    await plugin.shutDown(within: .zero)
    #expect(!Self.isRunning(process))
    #expect(try await response.status == 502)
    await rig.stop()
  }

  // MARK: Hostile plugins

  @Test(
    "an answer that is no HTTP fails the request, and leaves nothing behind",
    arguments: [
      "printf 'garbage\\r\\n\\r\\n'", "printf 'HTTP/1.1 200 OK\\r\\n'; yes 'x-field: value'",
      "printf 'HTTP/1.1 200 OK\\r\\nx: '; yes | tr -d '\\n'", "yes 'HTTP/1.1 103 Early Hints'",
      "printf 'HTTP/1.1 200 OK\\r\\ncontent-length: 1\\r\\ncontent-length: 2\\r\\n\\r\\nxx'",
      "printf 'HTTP/1.1 200 OK\\r\\ntransfer-encoding: chunked\\r\\ncontent-length: 2\\r\\n\\r\\nxx'",
    ])
  func garbage(_ answer: String) async throws {
    let folder = try TemporaryFolder()
    let rig = try await PluginRig([Self.script(answer, in: folder)], in: folder) { _ in Response(status: .ok) }
    #expect(try await rig.client.get("http://device/").status == 502)
    #expect(Self.count(in: folder) == 1)
    let plugin = rig.plugins[0]
    #expect(try await eventually { await plugin.status.running == 0 })
    #expect(try await eventually { await plugin.status.processIDs.isEmpty })
    await rig.stop()
  }

  @Test("the client gets the first of two final responses, and the second does not answer another request")
  func twoResponses() async throws {
    let folder = try TemporaryFolder()
    let answer =
      "printf 'HTTP/1.1 200 OK\\r\\ncontent-length: 5\\r\\n\\r\\nfirstHTTP/1.1 200 OK\\r\\ncontent-length: 6\\r\\n\\r\\nsecond'"
    let rig = try await PluginRig(["\(Self.script("\(answer); cat > /dev/null", in: folder))"], in: folder) { _ in
      Response(status: .ok)
    }
    for _ in 1...3 {
      #expect(try await rig.client.get("http://device/").text == "first")
    }
    await rig.stop()
  }

  @Test("a plugin that hangs fails with its time limit, which counts as late")
  func hangs() async throws {
    let folder = try TemporaryFolder()
    let rig = try await PluginRig([Self.script("cat > /dev/null", in: folder)], in: folder) {
      $0.timeout = .seconds(10)
    } origin: { _ in
      Response(status: .ok)
    }
    let response = try await rig.client.get("http://device/")
    #expect(response.status == 502)
    #expect(try await response.text.contains("did not answer within 10 s"))
    #expect(await rig.plugins[0].status.figures.failures == [.late: 1])
    await rig.stop()
  }

  // MARK: Figures

  @Test("the figures count requests and the plugin's own time, without that of the client and of the origin")
  func figures() async throws {
    let folder = try TemporaryFolder()
    let (arrived, arrival) = AsyncStream.makeStream(of: Void.self)
    let (gate, opening) = AsyncStream.makeStream(of: Void.self)
    let hops = NextHops()
    let (asked, asking) = AsyncStream.makeStream(of: Void.self)
    let (thought, thinking) = AsyncStream.makeStream(of: Void.self)
    let (read, reading) = AsyncStream.makeStream(of: Void.self)
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    sender.yield(ByteBuffer(string: "the beginning"))
    let plugin = try await TestPlugin(in: folder) { request in
      reading.yield()
      var request = request
      request.body = Body(try await request.body.collect(upTo: 100))
      asking.yield()
      for await _ in thought { break }
      return try await hops.forward(request)
    }
    let rig = try await PluginRig([plugin.address], in: folder) { _ in
      arrival.yield()
      for await _ in gate { break }
      return Response(status: .ok)
    }
    let start = NIODeadline.now()
    async let response = rig.client.execute(Request(.post, url: "http://device/", body: Body(chunks)))
    for await _ in read { break }
    let waiting = NIODeadline.now()
    #expect(try await eventually { NIODeadline.now() - waiting > .milliseconds(300) })
    let clientTime = NIODeadline.now() - waiting
    sender.finish()
    // Its time before it sends the request on counts.
    for await _ in asked { break }
    let busy = NIODeadline.now()
    #expect(try await eventually { NIODeadline.now() - busy > .milliseconds(300) })
    let ownTime = NIODeadline.now() - busy
    thinking.yield()
    for await _ in arrived { break }
    let held = NIODeadline.now()
    #expect(await rig.plugins[0].status.running == 1)
    #expect(try await eventually { NIODeadline.now() - held > .milliseconds(300) })
    let originTime = NIODeadline.now() - held
    opening.yield()
    _ = try await response.text
    let all = NIODeadline.now() - start
    let status = await rig.plugins[0].status
    #expect(status.figures.requests == 1 && status.figures.failures.isEmpty && status.processIDs.isEmpty)
    #expect(status.figures.lastTime == status.figures.time)
    #expect(status.figures.time >= ownTime && status.figures.time <= all - originTime - clientTime)
    if case .running = status.state {} else { Issue.record("\(status.state)") }
    await rig.stop()
    await plugin.stop()
  }

  @Test("the plugin's time is the sum of the times of all responses, and the latest one is known by itself")
  func sum() async throws {
    let folder = try TemporaryFolder()
    let plugin = try await TestPlugin(in: folder) { _ in Response(status: .ok) }
    let rig = try await PluginRig([plugin.address], in: folder) { _ in Response(status: .ok) }
    var sum = TimeAmount.zero
    for _ in 1...3 {
      _ = try await rig.client.get("http://device/").text
      let latest = await rig.plugins[0].status.figures.lastTime
      sum = sum + (try #require(latest))
    }
    #expect(await rig.plugins[0].status.figures.time == sum)
    await rig.stop()
    await plugin.stop()
  }
}

extension PluginStatus {
  fileprivate var isNotStarted: Bool {
    if case .notStarted = state { true } else { false }
  }
}
