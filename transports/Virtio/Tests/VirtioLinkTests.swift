import Byway
import Foundation
import Glibc
import NIOCore
import NIOPosix
import TestTools
import Testing
import TransportTestSupport

@testable import VirtioTransport

/// Tests both ends of a port: a pseudo-terminal stands for the port, and a Unix socket for that of QEMU. Tests/Device/virtio.py tests real
/// ports.
@Suite struct VirtioLinkTests {
  @Test("a virtio port that is opened by its name carries bytes both ways")
  func port() async throws {
    let (system, terminal) = try port("vport0p1")
    defer { withExtendedLifetime(system) {} }
    let transport = VirtioTransport(list: system.list)
    let channel = try await transport.connect(to: LinkAddress("virtio:org.byway.link"), context: .test())
    try await channel.writeAndFlush(ByteBuffer(bytes: [1, 0, 2]))
    #expect(try terminal.read(3) == [1, 0, 2])
    try terminal.write([3, 4])
    #expect(try await Array(buffer: channel.received(count: 2).bytes) == [3, 4])
    try await channel.close()
  }

  @Test("a virtio port that is opened by its path is opened again after each loss")
  func listener() async throws {
    let (system, terminal) = try port("vport0p1")
    defer { withExtendedLifetime(system) {} }
    let transport = VirtioTransport(list: system.list)
    let address = try LinkAddress("virtio:\(system.devices)/vport0p1")
    try transport.check(address, for: .listen)
    let listener = try await transport.listen(on: address, context: .test())
    for round: UInt8 in 1...2 {
      let channel = try #require(try await nextChannel(of: listener))
      try await channel.writeAndFlush(ByteBuffer(bytes: [round]))
      #expect(try terminal.read(1) == [round])
      try await channel.close()
    }
    await listener.close()
  }

  @Test("a listener waits for a missing virtio port, and gives the reason")
  func waiting() async throws {
    let system = try FakePorts([:])
    defer { withExtendedLifetime(system) {} }
    let log = LogRecord()
    let listener = try await VirtioTransport(list: system.list).listen(
      on: LinkAddress("virtio:org.byway.link"), context: .test(logger: log.logger))
    #expect(listener.unavailableReason?.hasPrefix("There is no virtio port org.byway.link") == true)
    #expect(log.all.first?.hasPrefix("notice Waiting for virtio port org.byway.link. There is no") == true)
    await listener.close()
  }

  @Test("a missing virtio port is an error for a dialer, and another device is one for both ends")
  func unusable() async throws {
    let system = try FakePorts([:])
    defer { withExtendedLifetime(system) {} }
    let transport = VirtioTransport(list: system.list)
    let missing = await bywayError { try await transport.connect(to: LinkAddress("virtio:a"), context: .test()) }
    #expect(missing?.code == .linkUnavailable && missing?.diagnosis?.fault == .noFile)
    let other = await bywayError { try await transport.listen(on: LinkAddress("virtio:/dev/null"), context: .test()) }
    #expect(other?.code == .linkUnavailable && other?.diagnosis?.fault == .notADevice)
  }

  @Test("a path that is too long for a socket is an error that says what to do")
  func longPath() async throws {
    let path = "/" + String(repeating: "a", count: 200)
    let error = await bywayError {
      try await VirtioTransport().connect(to: LinkAddress("virtio:\(path)"), context: .test())
    }
    #expect(error?.message.contains("at most 103 bytes. Give it a shorter one") == true, "\(error as Any)")
  }

  @Test("on the host, a link connects to the socket of a virtio port")
  func host() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder["vm.sock"]
    let address = try LinkAddress("virtio:\(path)")
    let transport = VirtioTransport()
    let missing = await bywayError { try await transport.connect(to: address, context: .test()) }
    #expect(
      missing?.message.hasPrefix("There is no \(path)") == true && missing?.processing == BywayError.Processing.none)

    let listener = try await transport.listen(on: address, context: .test())
    let machine = try FakeMachine(path)
    let channel = try #require(try await nextChannel(of: listener))
    try machine.accept()
    try machine.send([1, 2])
    #expect(try await Array(buffer: channel.received(count: 2).bytes) == [1, 2])
    machine.hangUp()
    try? await channel.close()
    let next = try #require(try await nextChannel(of: listener))
    try await next.close()
    await listener.close()

    machine.stop()
    let over = await bywayError { try await transport.connect(to: address, context: .test()) }
    #expect(over?.diagnosis?.fault == .nobodyListens && over?.message.contains("has ended") == true)
  }

  @Test("a socket with a full queue is in use by another program")
  func fullQueue() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let machine = try FakeMachine(folder["vm.sock"])
    let address = try LinkAddress("virtio:\(folder["vm.sock"])")
    var waiting: [any Channel] = []
    var error: BywayError?
    while waiting.count < 4, error == nil {
      error = await bywayError { waiting.append(try await VirtioTransport().connect(to: address, context: .test())) }
    }
    #expect(waiting.count == 2 && error?.diagnosis?.fault == .inUse && error?.code == .linkUnavailable)
    for channel in waiting { try? await channel.close() }
    machine.stop()
  }

  @Test(
    "a port that has no host is closed again, and a listener waits for the host",
    .enabled(if: VirtioLinkTests.fileInError != nil))
  func hostAway() async throws {
    let system = try FakePorts(["vport0p1": "org.byway.link\n"])
    defer { withExtendedLifetime(system) {} }
    let file = try #require(Self.fileInError)
    try FileManager.default.createSymbolicLink(atPath: "\(system.devices)/vport0p1", withDestinationPath: file)
    let transport = VirtioTransport(list: system.list)
    let address = try LinkAddress("virtio:org.byway.link")
    let error = await bywayError { try await transport.connect(to: address, context: .test()) }
    #expect(error?.message.hasPrefix("Nothing is connected to the host's end of ") == true, "\(error as Any)")
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == file
    }
    #expect(open == 0)
    let listener = try await transport.listen(on: address, context: .test())
    #expect(listener.unavailableReason?.hasPrefix("Nothing is connected to the host's end of ") == true)
    await listener.close()
  }

  /// A file of this machine for which poll(2) reports an error, as it does for a port without its host.
  private static let fileInError = ["/dev/net/tun", "/proc/pressure/cpu", "/sys/power/state"].first { path in
    let descriptor = Glibc.open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var state = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&state, 1, 0) == 1
  }

  /// Returns the folders of a machine with one port, and the host's end of the port.
  private func port(_ name: String) throws -> (FakePorts, PseudoTerminal) {
    let system = try FakePorts([name: "org.byway.link\n"])
    let terminal = try PseudoTerminal(isRaw: true)
    try FileManager.default.createSymbolicLink(atPath: "\(system.devices)/\(name)", withDestinationPath: terminal.path)
    return (system, terminal)
  }
}

/// The socket that QEMU gives a port.
private final class FakeMachine: @unchecked Sendable {
  // Sendable: one test uses it from one task.
  private var listening: CInt
  private var connection: CInt = -1

  init(_ path: String) throws {
    listening = try bindUnixSocket(at: path)
    guard listen(listening, 1) == 0 else { throw FixtureError("cannot listen: \(errno)") }
  }

  deinit {
    hangUp()
    stop()
  }

  func accept() throws {
    connection = Glibc.accept(listening, nil, nil)
    guard connection >= 0 else { throw FixtureError("cannot accept: \(errno)") }
  }

  func send(_ bytes: [UInt8]) throws {
    guard Glibc.send(connection, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count else {
      throw FixtureError("cannot send: \(errno)")
    }
  }

  func hangUp() {
    if connection >= 0 { close(connection) }
    connection = -1
  }

  func stop() {
    if listening >= 0 { close(listening) }
    listening = -1
  }
}
