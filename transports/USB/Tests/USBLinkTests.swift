import Byway
import Glibc
import NIOCore
import TestTools
import Testing
import TransportTestSupport

@testable import USBTransport

/// Tests both ends of a cable with emulated endpoints. Tests/Device/usb.py has those of a kernel.
@Suite struct USBLinkTests {
  private static let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 7) }

  @Test(
    "bytes over USB arrive in order, whatever the sizes of transfers",
    arguments: [1, 63, 64, 512, 16_383, 16_384, 100_000])
  func transfers(_ count: Int) async throws {
    let cable = EmulatedCable()
    let near = try await cable.open(side: 0, .test(), to: nil)
    let far = try await cable.open(side: 1, .test(), to: nil)
    for (from, to) in [(near, far), (far, near)] {
      let received = try await to.receiving(count: count)
      from.writeAndFlush(ByteBuffer(bytes: Self.bytes[..<count]), promise: nil)
      #expect(try await Array(buffer: received.get().bytes) == Array(Self.bytes[..<count]))
    }
    try await near.close()
    try await far.close()
  }

  @Test("no transfer over USB needs an empty packet behind it", arguments: [64, 512, 1024, 16_384])
  func shortPackets(_ count: Int) async throws {
    let cable = EmulatedCable()
    let near = try await cable.open(side: 0, .test(), to: nil)
    try await near.writeAndFlush(ByteBuffer(bytes: Self.bytes[..<count]))
    #expect(
      try await eventually {
        cable.state.withLock { $0.directions[0].packets.reduce(0) { $0 + $1.bytes.count } } == count
      })
    let ends = cable.state.withLock { $0.directions[0].packets.filter { $0.slot != nil }.map(\.bytes.count) }
    #expect(ends.count >= 2 && ends.allSatisfy { $0 % 64 != 0 }, "\(ends)")
    try await near.close()
  }

  @Test("an empty transfer over USB is not the end of the stream")
  func emptyTransfer() async throws {
    let cable = EmulatedCable()
    let far = try await cable.open(side: 1, .test(), to: nil)
    let received = try await far.receiving(count: 4)
    // More than are in flight at once.
    let empty: [[UInt8]] = Array(repeating: [], count: 2 * TransferPump.depth + 1)
    for packet in empty + [[1, 2], [], [3, 4]] {
      cable.state.withLock { state in
        state.directions[0].packets.append((packet, nil))
        EmulatedCable.move(from: 0, &state)
      }
    }
    #expect(try await Array(buffer: received.get().bytes) == [1, 2, 3, 4])
    try await far.close()
  }

  @Test("the last bytes over USB leave before a channel is closed")
  func farewell() async throws {
    let cable = EmulatedCable()
    let near = try await cable.open(side: 0, .test(), to: nil)
    let far = try await cable.open(side: 1, .test(), to: nil)
    let received = try await far.receiving(count: 200_000)
    near.writeAndFlush(ByteBuffer(bytes: Self.bytes[..<200_000]), promise: nil)
    try await near.close()
    #expect(try await Array(buffer: received.get().bytes) == Array(Self.bytes[..<200_000]))
    try await far.close()
  }

  @Test("a channel over USB closes although the other end takes nothing")
  func stuck() async throws {
    let cable = EmulatedCable()
    let near = try await cable.open(side: 0, .test(), to: nil)
    near.writeAndFlush(ByteBuffer(bytes: Self.bytes[..<1000]), promise: nil)
    let start = ContinuousClock.now
    try await near.close()
    // The last bytes have half a second to leave.
    let duration = start.duration(to: .now)
    #expect(duration > .milliseconds(400) && duration < .seconds(10), "\(duration)")
    // The thread waits, and does not ask again and again.
    #expect(cable.state.withLock { $0.looks[0] } < 20)
  }

  @Test("a channel over USB that is closing takes what the other end still sends, and drops it")
  func lateBytes() async throws {
    let cable = EmulatedCable()
    let near = try await cable.open(side: 0, .test(), to: nil)
    near.writeAndFlush(ByteBuffer(bytes: Self.bytes[..<1000]), promise: nil)
    near.close(promise: nil)
    // More transfers than are in flight at once, so that their buffers are used again.
    var sent = 0
    #expect(
      try await eventually(within: .seconds(20)) {
        cable.state.withLock { state in
          for _ in 0..<10 where state.closedPipes == 0 {
            state.directions[1].packets.append(([1, 2, 3], nil))
            EmulatedCable.move(from: 1, &state)
            sent += 1
          }
          return state.closedPipes == 1
        }
      })
    #expect(sent > 2 * TransferPump.depth)
    #expect(cable.state.withLock { $0.directions[1].packets.count } <= 10)
  }

  @Test("a link over USB has sixteen transfers of 16 KiB in flight in each direction")
  func depth() async throws {
    let cable = EmulatedCable()
    let near = try await cable.open(side: 0, .test(), to: nil)
    #expect(try await eventually { cable.state.withLock { $0.directions[1].receivers.count } == 16 })
    #expect(cable.state.withLock { $0.directions[1].receivers.allSatisfy { $0.memory.count == 16_384 } })
    near.writeAndFlush(ByteBuffer(bytes: Self.bytes), promise: nil)
    #expect(try await eventually { cable.state.withLock { $0.directions[0].packets.count { $0.slot != nil } } == 16 })
    cable.unplug()
    try? await near.close()
  }

  @Test("a reader that does not read stops the sender over USB, and gets all bytes later")
  func backPressure() async throws {
    let cable = EmulatedCable()
    let near = try await cable.open(side: 0, .test(), to: nil)
    let far = try await cable.open(side: 1, .test(), to: nil)
    var written = 0
    while written < 64 {
      let result = try await near.isWritten(ByteBuffer(bytes: Self.bytes[..<100_000]), within: .milliseconds(300))
      if !result { break }
      written += 1
    }
    #expect(written < 64, "\(written) writes of 100 KB wait for a reader")
    // Both threads wait while nothing moves.
    let looks = cable.state.withLock(\.looks)
    #expect(try await !near.isWritten(ByteBuffer(bytes: [0]), within: .milliseconds(300)))
    let more = cable.state.withLock(\.looks)
    #expect(zip(looks, more).allSatisfy { $1 - $0 < 20 }, "\(looks), \(more)")
    let bytes = try await far.received(count: (written + 1) * 100_000 + 1).bytes
    #expect(Array(buffer: bytes) == (0...written).flatMap { _ in Self.bytes[..<100_000] } + [0])
    try await near.close()
    try await far.close()
  }

  @Test("both channels close when the cable is unplugged")
  func unplugged() async throws {
    let cable = EmulatedCable()
    let near = try await cable.open(side: 0, .test(), to: nil)
    let far = try await cable.open(side: 1, .test(), to: nil)
    let ends = [try await near.receiving(), try await far.receiving()]
    cable.unplug()
    for end in ends { #expect(try await end.get().bytes.readableBytes == 0) }
    try await near.closeFuture.get()
    try await far.closeFuture.get()
  }

  @Test("the pipe is closed once, before the close of its channel completes")
  func released() async throws {
    let cable = EmulatedCable()
    for round in 1...3 {
      let near = try await cable.open(side: 0, .test(), to: nil)
      try await near.close()
      #expect(cable.state.withLock(\.closedPipes) == round)
    }
  }

  @Test("the end of a line is logged with its reason")
  func reason() async throws {
    let log = LogRecord()
    let cable = EmulatedCable()
    let near = try await cable.open(side: 0, .test(logger: log.logger), to: nil)
    let end = try await near.receiving()
    cable.unplug()
    _ = try await end.get()
    try await near.closeFuture.get()
    #expect(log.all == ["debug Line ends line=cable reason=it was unplugged"])
  }

  @Test("a session over USB survives an unplugged cable in a transfer")
  func session() async throws {
    let cable = EmulatedCable()
    let registry = TransportRegistry([cable])
    let listener = try await registry.link(cable.device).transport.listen(
      on: LinkAddress(cable.device), context: .test())
    let near = try await registry.link(cable.computer).transport.connect(
      to: LinkAddress(cable.computer), context: .test())
    let far = try #require(try await nextChannel(of: listener))
    let received = try await near.receiving(count: Self.bytes.count, limit: .seconds(30))
    cable.state.withLock { $0.unplugsAfter = 400_000 }
    far.writeAndFlush(ByteBuffer(bytes: Self.bytes), promise: nil)
    #expect(try await eventually { cable.state.withLock { !$0.isPlugged } })
    cable.plug()
    #expect(try await Array(buffer: received.get().bytes) == Self.bytes)
    try? await near.close()
    await listener.close()
  }
}

extension Channel {
  /// Writes bytes.
  /// - Returns: whether the medium has taken them in time.
  fileprivate func isWritten(_ bytes: ByteBuffer, within limit: TimeAmount) async throws -> Bool {
    let result = eventLoop.makePromise(of: Bool.self)
    let timeout = eventLoop.scheduleTask(in: limit) { result.succeed(false) }
    writeAndFlush(bytes).whenComplete { _ in
      timeout.cancel()
      result.succeed(true)
    }
    return try await result.futureResult.get()
  }
}
