import Byway
import Foundation
import Glibc
import NIOCore
import TestTools
import Testing
import TransportTestSupport

@testable import UnixTransport

@Suite struct UnixTransportTests {
  let transport = UnixTransport()

  @Test("the mode of a socket file does not depend on the umask", arguments: [0o600, 0o660, 0o666])
  func mode(_ mode: Int) async throws {
    try await withTemporaryFolder { folder in
      let address = try LinkAddress("unix:\(folder)/s?mode=0\(String(mode, radix: 8))")
      let listener = try await transport.listen(on: address, context: .test())
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/s")
      #expect(attributes[.posixPermissions] as? Int == mode)
      await listener.close()
    }
  }

  @Test("an invalid mode of a socket file is refused", arguments: ["", "rw", "8", "1777", "-1", "+7"])
  func badMode(_ mode: String) throws {
    #expect(throws: BywayError.self) { try transport.check(LinkAddress("unix:/s?mode=\(mode)")) }
  }

  @Test("a listener replaces the socket file that a crashed owner has left behind")
  func stale() async throws {
    try await withTemporaryFolder { folder in
      close(try RawSocket.bind("\(folder)/s", type: SOCK_STREAM))
      let address = try LinkAddress("unix:\(folder)/s")
      let listener = try await transport.listen(on: address, context: .test())
      let channel = try await transport.connect(to: address, context: .test())
      #expect(channel.isActive)
      try await channel.close().get()
      await listener.close()
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }
  }

  @Test("if several listeners start at the same time, one gets the socket and the others fail")
  func race() async throws {
    try await withTemporaryFolder { folder in
      close(try RawSocket.bind("\(folder)/s", type: SOCK_STREAM))
      let address = try LinkAddress("unix:\(folder)/s")
      let listeners = await withTaskGroup(of: (any Listener)?.self) { tasks in
        for _ in 0..<8 { tasks.addTask { try? await transport.listen(on: address, context: .test()) } }
        return await tasks.reduce(into: [any Listener]()) { if let listener = $1 { $0.append(listener) } }
      }
      #expect(listeners.count == 1)
      try await transport.connect(to: address, context: .test()).close().get()
      for listener in listeners { await listener.close() }
    }
  }

  @Test("the socket of a live owner is not replaced, and the error names the owner")
  func inUse() async throws {
    try await withTemporaryFolder { folder in
      let address = try LinkAddress("unix:\(folder)/s")
      let listener = try await transport.listen(on: address, context: .test())
      let error = await bywayError { try await transport.listen(on: address, context: .test()) }
      #expect(error?.code == .linkUnavailable)
      #expect(error?.message.contains("already in use by process \(getpid()) (") == true)
      try await transport.connect(to: address, context: .test()).close().get()
      await listener.close()
    }
  }

  @Test("a file that has taken the place of a socket is not removed")
  func foreignFile() async throws {
    try await withTemporaryFolder { folder in
      let listener = try await transport.listen(on: LinkAddress("unix:\(folder)/s"), context: .test())
      unlink("\(folder)/s")
      try "mine".write(toFile: "\(folder)/s", atomically: true, encoding: .utf8)
      await listener.close()
      #expect(FileManager.default.fileExists(atPath: "\(folder)/s"))
    }
  }

  @Test("a listener logs the credentials of a connected peer")
  func credentials() async throws {
    try await withTemporaryFolder { folder in
      let address = try LinkAddress("unix:\(folder)/s")
      let log = LogRecord()
      let listener = try await transport.listen(on: address, context: .test(logger: log.logger))
      let near = try await transport.connect(to: address, context: .test())
      let far = try await nextChannel(of: listener)
      #expect(log.all == ["info Accepted a peer on \(address) gid=\(getgid()) pid=\(getpid()) uid=\(getuid())"])
      try await near.close().get()
      try await far?.closeFuture.get()
      await listener.close()
    }
  }

  @Test("the path of a socket may be relative to the working directory")
  func relative() async throws {
    try await withTemporaryFolder { folder in
      let depth = FileManager.default.currentDirectoryPath.split(separator: "/").count
      let path = String(repeating: "../", count: depth) + folder.dropFirst() + "/s"
      let listener = try await transport.listen(on: LinkAddress("unix:\(path)"), context: .test())
      try await transport.connect(to: LinkAddress("unix:\(folder)/s"), context: .test()).close().get()
      await listener.close()
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }
  }
}
