import Foundation
import TestPeers
import TestTools
import Testing

extension Waiting {
  /// Gateways and proxies that meet at mosquitto.
  @Suite("A link over an MQTT broker") struct MQTTLinkTests {
    private let folder: TemporaryFolder
    private let origin: OriginServer
    private let broker: MosquittoServer

    init() async throws {
      folder = try TemporaryFolder()
      origin = try await OriginServer(on: .unix(folder["o"]))
      broker = try await MosquittoServer(in: folder)
    }

    private var link: String { "mqtt://127.0.0.1:\(broker.port)/byway/sensor1" }

    /// Downloads ten mebibytes, and kills and starts the broker when the first has arrived.
    private func expectDownload(from url: String) async throws {
      let path = "/noise?size=\(10 << 20)&seed=3"
      let digest = try await Curl.digest("--unix-socket", folder["o"], "http://origin\(path)")
      let file = folder["download"]
      async let download = Program.curl.run(["-q", "-sS", "--limit-rate", "4M", "-o", file, url + path])
      #expect(
        try await eventually {
          let size = try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
          return size ?? 0 > 1 << 20
        })
      await broker.kill()
      let successor = try await broker.successor()
      #expect(try await download.exitCode == 0)
      #expect(try await Curl.digest("file://\(file)") == digest)
      #expect(try await Curl.fetch("\(url)/").text == "hello, byway\n")
      await successor.stop()
    }

    private func gateway() async throws -> BywayProcess {
      try await BywayProcess.gateway(["--link", link, "--origin", "\(origin.endpoint)"])
    }

    private func proxy() async throws -> BywayProcess {
      try await BywayProcess.proxy(["--link", link, "--listen", "127.0.0.1:0"])
    }

    /// Writes a file of random bytes.
    /// - Returns: its path and digest.
    private func noise(_ count: Int) async throws -> (path: String, digest: String) {
      let path = folder["noise"]
      let random = try #require(FileHandle(forReadingAtPath: "/dev/urandom"))
      try #require(try random.read(upToCount: count)).write(to: URL(filePath: path))
      return (path, try await Curl.digest("file://\(path)"))
    }

    @Test("ten mebibytes arrive unchanged in both directions, and 60 requests at once are answered")
    func transfers() async throws {
      let (gateway, proxy) = (try await gateway(), try await proxy())
      let url = try "http://\(proxy.endpoint())"
      let (path, digest) = try await noise(10 << 20)
      #expect(try await Curl.digest("--data-binary", "@\(path)", "\(url)/held") == digest)
      try await withThrowingTaskGroup(of: String.self) { tasks in
        for _ in 0..<60 { tasks.addTask { try await Curl.fetch("\(url)/").text } }
        for try await text in tasks { #expect(text == "hello, byway\n") }
      }
      #expect(await proxy.process.stop() == .code(0))
      #expect(await gateway.process.stop() == .code(0))
    }

    @Test("a transfer continues after the broker was killed and started again")
    func brokerRestart() async throws {
      let (gateway, proxy) = (try await gateway(), try await proxy())
      let url = try "http://\(proxy.endpoint())"
      try await expectDownload(from: url)
      _ = (await proxy.process.stop(), await gateway.process.stop())
    }

    @Test("a transfer through two bridged brokers continues after one of them was killed and started again")
    func bridge() async throws {
      let second = try await MosquittoServer(
        in: folder,
        """
        allow_anonymous true
        connection first
        address 127.0.0.1:\(broker.port)
        topic byway/# both 0
        restart_timeout 1
        """)
      let gateway = try await gateway()
      let proxy = try await BywayProcess.proxy(
        ["--link", "mqtt://127.0.0.1:\(second.port)/byway/sensor1", "--listen", "127.0.0.1:0"])
      let url = try "http://\(proxy.endpoint())"
      #expect(try await eventually { try await Curl.fetch("\(url)/").text == "hello, byway\n" })
      try await expectDownload(from: url)
      _ = (await proxy.process.stop(), await gateway.process.stop())
      await second.stop()
    }

    @Test("requests fail soon with a clear error after the gateway was killed, and a new gateway answers")
    func gatewayKilled() async throws {
      let (gateway, proxy) = (try await gateway(), try await proxy())
      let url = try "http://\(proxy.endpoint())"
      #expect(try await Curl.fetch("\(url)/").text == "hello, byway\n")
      async let pending = Curl.fetch("\(url)/held?ms=60000", within: .seconds(60))
      _ = try await Curl.fetch("\(url)/arrivals?count=1")
      gateway.process.send(SIGKILL)
      _ = await gateway.process.waitForExit(within: .seconds(10))
      let answer = try await pending
      #expect(answer.status == 503 && answer.text.contains("No gateway announces itself"), "\(answer.text)")
      #expect(answer.total < 30)
      let next = try await self.gateway()
      #expect(try await eventually { try await Curl.fetch("\(url)/").text == "hello, byway\n" })
      #expect(await proxy.process.stop() == .code(0))
      #expect(await next.process.stop() == .code(0))
    }
  }
}
