import Byway
import Foundation
import Glibc
import NIOCore
import TestTools
import Testing
import TransportTestSupport

@testable import UnixTransport

/// Checks that each failure has its own message that says what to try.
@Suite struct UnixFailureTests {
  let transport = UnixTransport()

  @Test("if a socket path is too long, the error says how long it may be")
  func tooLong() async throws {
    let path = "/" + String(repeating: "a", count: SocketPath.limit)
    let error = await bywayError { try transport.check(LinkAddress("unix:\(path)")) }
    #expect(error?.code == .invalidAddress)
    #expect(error?.message.contains("has 108 bytes, but only 107 are possible") == true)
  }

  @Test("a socket path of exactly the limit is accepted")
  func longest() async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/" + String(repeating: "a", count: SocketPath.limit - folder.utf8.count - 1)
      let listener = try await transport.listen(on: LinkAddress("unix:\(path)"), context: .test())
      try await transport.connect(to: LinkAddress("unix:\(path)"), context: .test()).close().get()
      await listener.close()
    }
  }

  @Test(
    "an address without a path, or with a host, is refused", arguments: ["unix:", "unix://run/s", "unix:?mode=600"])
  func noPath(_ text: String) {
    #expect(throws: BywayError.self) { try transport.check(LinkAddress(text)) }
  }

  @Test("a missing directory is distinguished from a missing socket")
  func missing() async throws {
    try await withTemporaryFolder { folder in
      #expect(await connecting("\(folder)/s")?.hasPrefix("There is no socket \(folder)/s") == true)
      #expect(await connecting("\(folder)/d/s")?.hasPrefix("There is no directory \(folder)/d") == true)
      #expect(await listening("\(folder)/d/s")?.hasPrefix("There is no directory \(folder)/d") == true)
    }
  }

  @Test("a socket without a listener is distinguished from a file that is not a socket")
  func notListening() async throws {
    try await withTemporaryFolder { folder in
      close(try RawSocket.bind("\(folder)/s", type: SOCK_STREAM))
      #expect(await connecting("\(folder)/s")?.hasPrefix("Nothing listens on \(folder)/s") == true)
      try "".write(toFile: "\(folder)/f", atomically: true, encoding: .utf8)
      #expect(await connecting("\(folder)/f")?.hasPrefix("\(folder)/f exists and is not a socket") == true)
      #expect(await listening("\(folder)/f")?.hasPrefix("\(folder)/f exists and is not a socket") == true)
      #expect(FileManager.default.fileExists(atPath: "\(folder)/f"))
    }
  }

  @Test("a socket of another type is recognized")
  func datagram() async throws {
    try await withTemporaryFolder { folder in
      let socket = try RawSocket.bind("\(folder)/s", type: SOCK_DGRAM)
      #expect(await connecting("\(folder)/s")?.contains("is not a stream socket") == true)
      #expect(await listening("\(folder)/s")?.contains("already in use") == true)
      close(socket)
    }
  }

  @Test("a client waits while the backlog of a socket is full, and fails with a clear error at the deadline")
  func busy() async throws {
    try await withTemporaryFolder { folder in
      let socket = try RawSocket.bind("\(folder)/s", type: SOCK_STREAM)
      listen(socket, 0)
      let first = try await transport.connect(to: LinkAddress("unix:\(folder)/s"), context: .test())
      let limit = TimeAmount.milliseconds(100)
      let start = NIODeadline.now()
      #expect(await connecting("\(folder)/s", limit: limit)?.contains("is busy or stuck") == true)
      #expect(.now() - start > .milliseconds(80))
      #expect(await listening("\(folder)/s")?.contains("already in use") == true)

      async let second = transport.connect(to: LinkAddress("unix:\(folder)/s"), context: .test())
      // There is room as soon as the first connection has been accepted.
      let accepted = accept(socket, nil, nil)
      try await second.close().get()
      try await first.close().get()
      close(accepted)
      close(socket)
    }
  }

  @Test("without permission for a socket, the error says what to do")
  func permission() throws {
    // Tests may run as the superuser, who is never refused, so only the message is tested.
    let path = try SocketPath(LinkAddress("unix:/run/s"))
    let connecting = UnixFailure.connecting(
      to: path, IOError(errnoCode: EACCES, reason: "connect"), expecting: .gateway)
    #expect(connecting.message.hasPrefix("Permission denied on /run/s: ask its owner"))
    let dialing = UnixFailure.connecting(to: path, IOError(errnoCode: ENOENT, reason: "x"), expecting: .client)
    #expect(dialing.message.contains("start a client whose link has ?open=listen"), "\(dialing.message)")
    #expect(UnixFailure.binding(path, EACCES).message.hasPrefix("Permission denied on /run/s: choose a directory"))
    #expect(UnixFailure.binding(path, EROFS).message.hasPrefix("/run is read-only"))
  }

  private func connecting(_ path: String, limit: TimeAmount = .seconds(10)) async -> String? {
    await bywayError {
      try await transport.connect(to: LinkAddress("unix:\(path)"), context: .test(limit: limit))
    }?.message
  }

  private func listening(_ path: String) async -> String? {
    await bywayError { try await transport.listen(on: LinkAddress("unix:\(path)"), context: .test()) }?.message
  }
}

enum RawSocket {
  static func bind(_ path: String, type: __socket_type) throws -> CInt {
    let socket = Glibc.socket(AF_UNIX, CInt(type.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else { throw FixtureError("cannot bind \(path)") }
    return socket
  }
}
