import Glibc
import NIOCore
import NIOPosix
import TestTools
import Testing
import TransportTestSupport

@testable import Byway

/// A remote shell on a socket; the test answers as the shell.
@Suite struct RemoteShellTests {
  /// Returns a shell, and the peer of its channel.
  private func shell() async throws -> (RemoteShell, FarShell) {
    let far = try FarShell()
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelOption(.autoRead, value: false)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .withConnectedSocket(far.takeNear()).get()
    return (try await RemoteShell.start(on: channel, seed: 0x5EED_0001), far)
  }

  @Test(
    "a command has its status and its output, whatever the pieces in which they arrive", arguments: [1, 2, 5, 1000])
  func pieces(_ size: Int) async throws {
    let (shell, far) = try await shell()
    for (number, status) in [(1, 0), (2, 127)] {
      async let answer = shell.run("true", within: .seconds(20))
      #expect(try await far.line() == "")
      #expect(try await far.line() == #"{ true; } 2>&1; echo "BY""WAY-R\#(number)-5eed0001-$?-""#)
      let text = "one\r\n two\nBYWAY-R\(number)-5eed0001-\(status)-\r\n"
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        try far.send(rest.prefix(size))
        rest = rest.dropFirst(size)
      }
      #expect(try await answer == .init(status: status, text: "one\n two"))
    }
    await shell.end()
    #expect(try await far.line() == "exit")
  }

  @Test("a status of which only the first digits have arrived is waited for")
  func partOfStatus() async throws {
    let (shell, far) = try await shell()
    let answer = Task { try await shell.run("true", within: .seconds(20)) }
    for _ in 0..<2 { _ = try await far.line() }
    try far.send(Array("BYWAY-R1-5eed0001-12".utf8))
    // All of that is taken before the rest is sent.
    #expect(try await eventually { far.isTaken })
    try await settled(for: .milliseconds(100)) { far.isTaken }
    try far.send(Array("7-\n".utf8))
    #expect(try await answer.value == .init(status: 127, text: ""))
    await shell.end()
  }

  @Test("the end of an earlier command is not that of the next one")
  func late() async throws {
    let (shell, far) = try await shell()
    await #expect(throws: RemoteShell.Failure.silent) { try await shell.run("one", within: .milliseconds(50)) }
    for _ in 0..<2 { _ = try await far.line() }
    async let answer = shell.run("two", within: .seconds(20))
    for _ in 0..<2 { _ = try await far.line() }
    try far.send(Array("old\nBYWAY-R1-5eed0001-1-\nnew\nBYWAY-R2-5eed0001-0-\n".utf8))
    #expect(try await answer == .init(status: 0, text: "old\nBYWAY-R1-5eed0001-1-\nnew"))
    await shell.end()
  }

  @Test("the echo of a command is not its end, and the end of much output is kept")
  func muchOutput() async throws {
    let (shell, far) = try await shell()
    async let answer = shell.run("cat", within: .seconds(20))
    _ = try await far.line()
    let command = try await far.line()
    try far.send(Array("\(command)\n".utf8))
    for _ in 0..<10 { try await far.sendLater([UInt8](repeating: UInt8(ascii: "x"), count: 5000)) }
    try await far.sendLater(Array("\nend\nBYWAY-R1-5eed0001-3-\n".utf8))
    let result = try await answer
    #expect(result.status == 3 && result.text.hasSuffix("xxx\nend"))
    #expect((10_000...16_384).contains(result.text.utf8.count) && !result.text.contains("echo"))
    await shell.end()
  }

  @Test("a command whose shell ends fails at once, and so do later ones")
  func closed() async throws {
    let (shell, far) = try await shell()
    async let answer = shell.run("true", within: .seconds(20))
    for _ in 0..<2 { _ = try await far.line() }
    far.close()
    let start = ContinuousClock.now
    do {
      _ = try await answer
      Issue.record("an answer")
    } catch {
      #expect(error as? RemoteShell.Failure == .closed)
    }
    await #expect(throws: RemoteShell.Failure.closed) { try await shell.run("true", within: .seconds(20)) }
    #expect(start.duration(to: .now) < .seconds(15))
  }

  @Test("a second command at the same time is refused, and the first one goes on")
  func second() async throws {
    let (shell, far) = try await shell()
    async let answer = shell.run("one", within: .seconds(20))
    for _ in 0..<2 { _ = try await far.line() }
    await #expect(throws: RemoteShell.Failure.closed) { try await shell.run("two", within: .seconds(20)) }
    try far.send(Array("BYWAY-R1-5eed0001-0-\n".utf8))
    #expect(try await answer == .init(status: 0, text: ""))
    await shell.end()
  }
}

/// The peer of a shell's channel.
private final class FarShell: @unchecked Sendable {
  // Sendable: each test uses it from one task.
  private var near: CInt
  private var far: CInt
  private var buffer: [UInt8] = []

  init() throws {
    var pair: [CInt] = [-1, -1]
    guard
      socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0
    else {
      throw FixtureError("no pair of sockets: \(errno)")
    }
    (near, far) = (pair[0], pair[1])
  }

  deinit { close() }

  func takeNear() -> CInt { near }

  func close() {
    if far >= 0 { Glibc.close(far) }
    far = -1
  }

  func send(_ bytes: some Collection<UInt8>) throws {
    let bytes = Array(bytes)
    guard Glibc.send(far, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count else {
      throw FixtureError("cannot send: \(errno)")
    }
  }

  /// Whether the other end has taken all that was sent (SIOCOUTQ of unix(7)).
  var isTaken: Bool {
    var count: CInt = -1
    return ioctl(far, 0x5411, &count) == 0 && count == 0
  }

  /// Sends bytes when there is room.
  func sendLater(_ bytes: [UInt8]) async throws {
    guard try await eventually({ Glibc.send(far, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count }) else {
      throw FixtureError("no room")
    }
  }

  /// Returns the next line that was sent to the shell.
  func line() async throws -> String {
    let end = try await eventualValue { () -> Int? in
      if let end = buffer.firstIndex(of: 0x0A) { return end }
      var chunk = [UInt8](repeating: 0, count: 4096)
      let count = recv(far, &chunk, chunk.count, 0)
      if count > 0 { buffer += chunk[..<count] }
      return buffer.firstIndex(of: 0x0A)
    }
    guard let end else { throw FixtureError("no line came") }
    defer { buffer.removeFirst(end + 1) }
    return String(decoding: buffer[..<end], as: UTF8.self)
  }
}
