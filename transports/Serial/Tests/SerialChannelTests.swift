import Byway
import Foundation
import Glibc
import NIOCore
import TestTools
import Testing
import TransportTestSupport

@testable import SerialTransport

@Suite struct SerialChannelTests {
  let transport = SerialTransport()

  @Test("a serial channel carries every byte unchanged in both directions, without an echo")
  func transparency() async throws {
    let terminal = try PseudoTerminal()
    let channel = try await connect(terminal)
    try terminal.write(everyByte + everyByte.reversed())
    let received = try await channel.received(count: 512)
    #expect(Array(buffer: received.bytes) == everyByte + everyByte.reversed())
    try await channel.writeAndFlush(ByteBuffer(bytes: everyByte))
    // An echo of the received bytes would come first.
    #expect(try terminal.read(256) == everyByte)
    #expect(!terminal.hasInput)
    try await channel.close()
  }

  @Test("closing a serial channel restores the terminal's settings")
  func restoration() async throws {
    let terminal = try PseudoTerminal()
    let before = try terminal.settings
    let channel = try await connect(terminal, options: "?baud=921600&stopbits=2")
    #expect(try terminal.settings != before)
    try await channel.close()
    #expect(try terminal.settings == before)
  }

  @Test("bytes that arrived before a serial channel was opened are not delivered")
  func staleInput() async throws {
    let terminal = try PseudoTerminal()
    try terminal.write(Array("stale\n".utf8))
    let channel = try await connect(terminal)
    try terminal.write(Array("fresh".utf8))
    #expect(try await channel.received(count: 5).text == "fresh")
    try await channel.close()
  }

  @Test("a serial channel closes when the line hangs up before its owner reads", arguments: [false, true])
  func hangUp(withBytes: Bool) async throws {
    var terminal: PseudoTerminal? = try PseudoTerminal()
    let path = try #require(terminal?.path)
    let channel = try await transport.connect(to: LinkAddress("serial:\(path)"), context: .test())
    if withBytes { try terminal?.write(everyByte) }
    terminal = nil
    try await ended(channel)
  }

  @Test("a serial channel closes when the line hangs up while its owner reads")
  func hangUpWhileReading() async throws {
    var terminal: PseudoTerminal? = try PseudoTerminal()
    let channel = try await connect(#require(terminal))
    try terminal?.write([1])
    #expect(try await channel.received(count: 1).bytes == ByteBuffer(bytes: [1]))
    channel.read()
    terminal = nil
    try await ended(channel)
  }

  @Test("a serial channel closes when the line hangs up and its owner only writes")
  func hangUpWhileWriting() async throws {
    var terminal: PseudoTerminal? = try PseudoTerminal()
    let channel = try await connect(#require(terminal))
    // More bytes than the line buffers.
    let written = channel.eventLoop.makePromise(of: Void.self)
    channel.writeAndFlush(ByteBuffer(repeating: 0x55, count: 1 << 20), promise: written)
    _ = try terminal?.read(1000)
    terminal = nil
    try await ended(channel)
    await #expect(throws: (any Error).self) { try await written.futureResult.get() }
  }

  @Test("a port can be opened again right after a close, any number of times, without leaking descriptors")
  func reopening() async throws {
    let terminal = try PseudoTerminal()
    for _ in 0..<50 { try await connect(terminal).close() }
    #expect(try openCount(of: terminal.path) == 0)
  }

  @Test("if a path leads to another device now, the serial channel opens that one")
  func renaming() async throws {
    try await withTemporaryFolder { folder in
      let name = "\(folder)/port"
      for round: UInt8 in 0..<3 {
        let terminal = try PseudoTerminal()
        try terminal.link(as: name)
        let channel = try await transport.connect(to: LinkAddress("serial:\(name)"), context: .test())
        try await channel.writeAndFlush(ByteBuffer(bytes: [round]))
        #expect(try terminal.read(1) == [round])
        try await channel.close()
      }
    }
  }

  @Test("a serial channel refuses a half-close, and closes once for any number of calls")
  func closing() async throws {
    let terminal = try PseudoTerminal()
    let channel = try await connect(terminal)
    await #expect(throws: ChannelError.operationUnsupported) { try await channel.close(mode: .output).get() }
    #expect(channel.isActive)
    let closes = (0..<3).map { _ in channel.eventLoop.makePromise(of: Void.self) }
    for promise in closes { channel.close(promise: promise) }
    for promise in closes { try? await promise.futureResult.get() }
    #expect(!channel.isActive)
    #expect(try openCount(of: terminal.path) == 0)
  }

  @Test(
    "the transport reports that a serial: link is a line, and its speed",
    arguments: ["", "?baud=9600", "?parity=even", "?stopbits=2&parity=odd"])
  func line(_ options: String) throws {
    let expected = ["": 11520, "?baud=9600": 960, "?parity=even": 10472, "?stopbits=2&parity=odd": 9600][options]
    #expect(try transport.line(for: LinkAddress("serial:/dev/x\(options)"))?.bytesPerSecond == expected)
  }

  private func connect(_ terminal: PseudoTerminal, options: String = "") async throws -> any Channel {
    try await transport.connect(to: LinkAddress("serial:\(terminal.path)\(options)"), context: .test())
  }
}

/// Waits for the end of a channel, up to a limit.
func ended(_ channel: any Channel, limit: TimeAmount = .seconds(10)) async throws {
  let promise = channel.eventLoop.makePromise(of: Void.self)
  channel.closeFuture.cascade(to: promise)
  let timeout = channel.eventLoop.scheduleTask(in: limit) { promise.fail(FixtureError("the channel is still open")) }
  try await promise.futureResult.get()
  timeout.cancel()
}
