import BywayLineLayer
import NIOCore
import NIOEmbedded
import Testing

@testable import Byway

@Suite("Line driver") struct LineDriverTests {
  private let rig: LineRig

  init() throws {
    rig = try LineRig()
    for end in [rig.near, rig.far] { end.reader.events = [] }
  }

  /// Returns bytes that differ by position.
  private func pattern(_ count: Int, seed: Int = 0) -> ByteBuffer {
    ByteBuffer(bytes: (0..<count).map { UInt8(truncatingIfNeeded: ($0 &+ seed) &* 131 ^ ($0 >> 8)) })
  }

  @Test("a line carries a stream in each direction")
  func carries() throws {
    let (up, down) = (pattern(5000), pattern(5000, seed: 1))
    _ = rig.near.write(up)
    _ = rig.far.write(down)
    try rig.run(for: .seconds(2))
    #expect(rig.far.reader.bytes == up)
    #expect(rig.near.reader.bytes == down)
  }

  @Test("a line can end in one direction while the other continues")
  func halfClosure() throws {
    _ = rig.near.write(pattern(1000))
    rig.near.channel?.close(mode: .output, promise: nil)
    try rig.run(for: .seconds(1))
    #expect(rig.far.reader.bytes == pattern(1000))
    #expect(rig.far.reader.events.last == "input closed")
    _ = rig.far.write(pattern(5000))
    try rig.run(for: .seconds(1))
    #expect(rig.near.reader.bytes == pattern(5000))
    #expect(rig.near.ends.isEmpty && rig.far.ends.isEmpty)
    rig.far.channel?.close(mode: .output, promise: nil)
    try rig.run(for: .seconds(1))
    #expect(rig.near.ends == [.finished] && rig.far.ends == [.finished])
    #expect(rig.near.reader.events.suffix(2) == ["input closed", "inactive"])
    #expect(rig.far.reader.events.last == "inactive")
  }

  @Test("closing sends all written bytes first, however long that takes")
  func closing() throws {
    // Bytes for four seconds.
    let bytes = pattern(46_000)
    let written = rig.near.write(bytes)
    rig.near.channel?.close(promise: nil)
    #expect(written.isPending)
    try rig.run(for: .seconds(10)) { rig.far.reader.events.last == "input closed" }
    #expect(written.hasSucceeded)
    #expect(rig.far.reader.bytes == bytes)
    rig.far.channel?.close(promise: nil)
    try rig.run(for: .seconds(1))
    #expect(rig.near.ends == [.finished] && rig.far.ends == [.finished])
    #expect(rig.near.reader.events.last == "inactive")
  }

  @Test("closing waits for an interrupted line while the peer lacks written bytes", arguments: [5, 20])
  func closingWithoutLine(_ seconds: Int64) throws {
    let bytes = pattern(10_000)
    let written = rig.near.write(bytes)
    rig.near.channel?.close(promise: nil)
    try rig.run(for: .milliseconds(100))
    try rig.unplug()
    try rig.run(for: .seconds(seconds))
    #expect(rig.near.ends.isEmpty)
    try rig.plugIn()
    try rig.run(for: .seconds(3)) { rig.far.reader.events.last == "input closed" }
    #expect(written.hasSucceeded)
    #expect(rig.far.reader.bytes == bytes)
  }

  @Test("closing does not wait for a peer that stays open, and notifies it")
  func impatience() throws {
    rig.near.channel?.close(promise: nil)
    try rig.run(for: .seconds(6)) { !rig.far.ends.isEmpty }
    #expect(rig.near.ends == [.abortedHere] && rig.far.ends == [.aborted])
    #expect(rig.near.reader.events == ["inactive"])
    #expect(rig.far.reader.events.dropLast().last?.contains("closed the link") == true)
  }

  @Test("a reader that does not read stops the writer, and no bytes are lost")
  func backPressure() throws {
    _ = rig.far.channel?.setOption(.autoRead, value: false)
    let window = LineLayerConfiguration.defaults.window
    let bytes = pattern(window + 50_000)
    let written = rig.near.write(bytes)
    try rig.run(for: .seconds(30))
    #expect(written.isPending)
    #expect(rig.near.driver.backlog >= 40_000)
    #expect(rig.near.channel?.isWritable == false)
    #expect(rig.far.reader.bytes.readableBytes < 4096)
    _ = rig.far.channel?.setOption(.autoRead, value: true)
    try rig.run(for: .seconds(30)) { rig.far.reader.bytes.readableBytes == bytes.readableBytes }
    #expect(written.hasSucceeded)
    #expect(rig.far.reader.bytes == bytes)
  }

  @Test("the driver asks for bytes only when the line is about to send them")
  func room() throws {
    let channel = try #require(rig.near.channel)
    #expect(channel.isWritable && channel.room > 0)
    // Bytes for half a second.
    _ = rig.near.write(pattern(6000))
    #expect(!channel.isWritable && channel.room == 0)
    try rig.run(for: .milliseconds(300))
    #expect(!channel.isWritable)
    #expect(rig.near.reader.events.isEmpty)
    try rig.run(for: .milliseconds(400))
    #expect(channel.isWritable)
    #expect(Set(rig.near.reader.events) == ["writable"])
  }

  @Test("a session continues on the next line exactly where it stopped")
  func anotherLine() throws {
    let (up, down) = (pattern(10_000), pattern(10_000, seed: 1))
    _ = rig.near.write(up)
    _ = rig.far.write(down)
    for _ in 0..<3 {
      try rig.run(for: .milliseconds(200))
      try rig.unplug()
      try rig.run(for: .seconds(5))
      try rig.plugIn()
    }
    try rig.run(for: .seconds(3))
    #expect(rig.near.losses == 3 && rig.far.losses == 3)
    #expect(rig.far.reader.bytes == up)
    #expect(rig.near.reader.bytes == down)
    #expect(rig.near.ends.isEmpty)
  }

  @Test("a line that does not return ends its session with the reason")
  func lostLine() throws {
    let lost = rig.near.write(pattern(10_000))
    try rig.run(for: .milliseconds(100))
    try rig.unplug()
    try rig.run(for: .seconds(29))
    #expect(rig.near.ends.isEmpty && lost.isPending)
    try rig.run(for: .seconds(2))
    #expect(rig.near.ends == [.lineLost] && rig.far.ends == [.lineLost])
    #expect((lost.error as? BywayError)?.code == .linkLost)
    #expect(rig.near.reader.events.dropLast().last?.contains("was unplugged") == true)
    #expect(rig.near.reader.events.last == "inactive")
  }

  @Test("a line that accepts no bytes is reported as silent within 4 s, and ends after the grace period")
  func clogged() throws {
    let handler = ClogHandler()
    try rig.clogNear(with: handler)
    rig.isSilent = true
    let lost = rig.near.write(pattern(10_000))
    try rig.run(for: .seconds(4)) { rig.near.channel?.interruption != nil }
    #expect(rig.near.channel?.interruption?.cause == .silent && lost.isPending)
    try rig.run(for: .seconds(31)) { !rig.near.ends.isEmpty }
    #expect(rig.near.ends == [.silence])
    #expect((lost.error as? BywayError)?.code == .linkLost)
    handler.fail()
  }

  @Test("a session continues on the next line, even if the one before takes no more bytes")
  func nextLineAfterClog() throws {
    let handler = ClogHandler()
    try rig.clogNear(with: handler)
    let written = rig.near.write(pattern(10_000))
    try rig.run(for: .milliseconds(500))
    #expect(rig.far.reader.bytes.readableBytes == 0)
    try rig.plugIn()
    try rig.run(for: .seconds(5)) { rig.far.reader.bytes.readableBytes == 10_000 }
    #expect(rig.far.reader.bytes == pattern(10_000) && written.hasSucceeded)
    handler.fail()
    try rig.run(for: .seconds(1))
    #expect(rig.near.ends.isEmpty && rig.far.ends.isEmpty)
  }

  @Test("a line that fails before use does not replace the one in use")
  func deadLine() throws {
    let dead = try LineRig.line(on: rig.loop)
    dead.close(promise: nil)
    rig.loop.run()
    #expect(throws: (any Error).self) { try rig.far.driver.attach(dead) }
    _ = rig.near.write(pattern(1000))
    try rig.run(for: .seconds(1))
    #expect(rig.far.reader.bytes == pattern(1000))
  }

  @Test("aborting a session is an error at the peer only")
  func abortion() throws {
    _ = rig.near.write(pattern(10_000))
    rig.near.driver.abort()
    try rig.run(for: .seconds(1))
    #expect(rig.near.ends == [.abortedHere] && rig.far.ends == [.aborted])
    #expect(!rig.near.reader.events.contains { $0.hasPrefix("error") })
    #expect(rig.far.reader.events.contains { $0.hasPrefix("error") })
  }

  @Test("an idle session sends only its periodic POLLs")
  func idle() throws {
    try rig.run(for: .seconds(5))
    let before = rig.near.driver.layer.statistics.sentBytes + rig.far.driver.layer.statistics.sentBytes
    try rig.run(for: .seconds(60))
    let after = rig.near.driver.layer.statistics.sentBytes + rig.far.driver.layer.statistics.sentBytes
    #expect(after - before <= 60 * 6)
    #expect(after > before)
  }
}

/// An outbound handler that never completes a write.
final class ClogHandler: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  private var promises: [EventLoopPromise<Void>] = []

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if let promise { promises.append(promise) }
  }

  func fail() {
    for promise in promises { promise.fail(ChannelError.ioOnClosedChannel) }
    promises = []
  }
}
