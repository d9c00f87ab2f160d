import Byway
import Foundation
import NIOCore
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import SSHTransport

/// The environment variable BYWAY_SSH_ABORTS sets the number of rounds. A thousand take some minutes.
@Suite("Aborts of ssh: links") struct SSHLeakTests {
  private static let count = ProcessInfo.processInfo.environment["BYWAY_SSH_ABORTS"].flatMap { Int($0) } ?? 60

  private static var openDescriptors: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? .max
  }

  /// The connections to a port that this process has open, whatever the state of the other end.
  private static func openConnections(to port: Int) -> Int {
    let port = String(format: ":%04X", port)
    guard let table = try? String(contentsOfFile: "/proc/net/tcp", encoding: .utf8) else { return .max }
    return table.split(separator: "\n").count { line in
      let words = line.split(separator: " ")
      // This end is not closed if the state is established, or if only the other end has closed.
      return words.count > 3 && words[2].hasSuffix(port) && ["01", "08"].contains(words[3])
    }
  }

  @Test("a link cancelled while it connects leaves no connection", .timeLimit(.minutes(1)))
  func early() async throws {
    try await SSHRig.with { original async throws in
      for round in 0..<300 {
        let rig = SSHRig(server: original.server)
        let context = LinkContext.test(limit: .milliseconds(Int64(1 + round % 12)))
        (try? await rig.connect("?command=cat", context: context))?.close(promise: nil)
      }
      let port = original.server.port
      #expect(try await eventually { Self.openConnections(to: port) == 0 })
    }
  }

  @Test("a link cancelled at any time leaks nothing", .timeLimit(.minutes(15))) func aborts() async throws {
    var limits = SSHLimits()
    limits.lingering = .milliseconds(20)
    try await SSHRig.with { original in
      let path = original.server.folder["f"]
      let fountain = try await LocalServer.start(at: path) { channel in
        try channel.pipeline.syncOperations.addHandler(Fountain())
      }
      var resident: [Int] = []
      var descriptors = 0
      for round in 0..<Self.count {
        let rig = SSHRig(server: original.server, transport: SSHTransport(limits))
        if round % 3 == 0 {
          // Cancelled at some point during the opening.
          let context = LinkContext.test(limit: .milliseconds(Int64(round % 40)))
          (try? await rig.connect(path, context: context))?.close(promise: nil)
        } else {
          let channel = try await rig.connect(round % 3 == 1 ? path : "?command=cat /dev/zero")
          _ = try await channel.collected(count: 100_000)
          if round % 2 == 0 { rig.server.killSessions() }
          channel.close(promise: nil)
        }
        // By then event loops and threads have allocated what they keep.
        if round == Self.count / 4 { descriptors = Self.openDescriptors }
        if round % 50 == 49 { resident.append(try ProcessMemory(of: getpid()).resident) }
      }
      #expect(try await eventually { original.server.sessions.isEmpty })
      if Self.count >= 1000 {
        let growth = try #require(resident.last) - resident[resident.count / 4]
        #expect(growth < 8 << 20, "\(resident)")
        // With this many rounds, no other tests run.
        #expect(try await eventually { Self.openDescriptors <= descriptors })
        print("resident after each 50 rounds:", resident.map { $0 >> 10 }, "KiB")
      }
      await fountain.stop()
    }
  }
}
