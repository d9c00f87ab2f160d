import Foundation
import Synchronization
import TestPeers
import TestTools
import Testing

/// Daemons on listening sockets that another process holds, as systemd does.
@Suite("Socket activation") struct SocketActivationTests {
  @Test(
    "a client that connects during a restart is served by the new process",
    arguments: ["gateway", "proxy"])
  func restart(_ role: String) async throws {
    let folder = try TemporaryFolder()
    let origin = try await OriginServer(on: .unix(folder["o"]))
    let gateway =
      role == "proxy"
      ? try await BywayProcess.gateway(["--link", "unix:\(folder["l"])", "--origin", "\(origin.endpoint)"]) : nil
    let arguments =
      role == "proxy"
      ? ["--link", "unix:\(folder["l"])", "--listen", "fd:here"]
      : ["--link", "fd:here", "--origin", "\(origin.endpoint)"]
    let socket = try HeldSocket(folder["s"])
    func start() async throws -> BywayProcess {
      try await .activated(role, arguments, socket: socket.descriptor, name: "here")
    }

    let crowd = Crowd(role == "gateway" ? ["--http2-prior-knowledge"] : [], at: folder["s"])
    let clients = Task { try await crowd.run() }
    var generation = try await start()
    for _ in 0..<4 {
      let before = crowd.answered
      #expect(try await eventually { crowd.answered > before + 8 })
      #expect(await generation.process.stop() == .code(0))
      // All clients connect while no daemon runs.
      #expect(try await eventually { crowd.waiting == 4 })
      generation = try await start()
    }
    let before = crowd.answered
    #expect(try await eventually { crowd.answered > before + 8 })
    crowd.end()
    let failed = try await clients.value
    #expect(failed.isEmpty, "\(failed.map { "\($0.exitCode) \($0.status) \($0.errorText)" })")
    #expect(generation.ready.hasPrefix("unix:\(folder["s"])"))
    await generation.process.stop()
    await gateway?.process.stop()
    await origin.stop()
  }

  @Test("a missing activation socket is an error with advice")
  func missing() async throws {
    let folder = try TemporaryFolder()
    let result = try await BywayProcess.run(["proxy", "--link", "unix:\(folder["l"])", "--listen", "fd:web"])
    #expect(result.exitCode == 69)
    #expect(result.errorText.contains("start the .socket unit"), "\(result.errorText)")
  }

  /// Clients one after another, each with its own connection.
  private final class Crowd: Sendable {
    private let options: [String]
    private let count = Mutex(0)
    private let connecting = Mutex(0)
    private let isOver = Mutex(false)

    init(_ options: [String], at socket: String) {
      self.options = options + ["--unix-socket", socket, "http://localhost/echo"]
    }

    var answered: Int { count.withLock(\.self) }

    /// The number of running clients.
    var waiting: Int { connecting.withLock(\.self) }

    func end() { isOver.withLock { $0 = true } }

    /// Runs the clients until they are stopped.
    /// - Returns: the responses other than 200.
    func run() async throws -> [CurlAnswer] {
      try await withThrowingTaskGroup(of: [CurlAnswer].self) { group in
        for _ in 0..<4 { group.addTask { try await self.comeAgain() } }
        return try await group.reduce([], +)
      }
    }

    private func comeAgain() async throws -> [CurlAnswer] {
      var failed: [CurlAnswer] = []
      while !isOver.withLock(\.self) {
        connecting.withLock { $0 += 1 }
        defer { connecting.withLock { $0 -= 1 } }
        let answer = try await Curl.fetch(options)
        if answer.status == 200 { count.withLock { $0 += 1 } } else { failed.append(answer) }
      }
      return failed
    }
  }

  /// A listening socket that is passed to started processes.
  private final class HeldSocket {
    let descriptor: Int32

    init(_ path: String) throws {
      descriptor = try bindUnixSocket(at: path)
      guard listen(descriptor, 64) == 0 else { throw PeerFailure("no socket at \(path)") }
    }

    deinit {
      close(descriptor)
    }
  }
}
