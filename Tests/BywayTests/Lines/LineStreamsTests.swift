import BywayLineLayer
import NIOCore
import NIOEmbedded
import Testing

@testable import Byway

@Suite("Streams of a line's session as channels") struct LineStreamsTests {
  private let rig: LineRig
  private let streams: LineStreams
  private let far: FarStreams

  init() throws {
    var configuration = LineLayerConfiguration.of(bytesPerSecond: 11_520)
    configuration.streams = StreamOffer(count: 3, credit: 4)
    rig = try LineRig(configuration: configuration, offer: StreamOffer(count: 16, credit: 255), hasReaders: false)
    let (near, agreement) = try (#require(rig.near.channel), #require(rig.near.driver.layer.streams))
    streams = LineStreams(agreement, on: near, to: try LinkAddress("line:test"))
    far = FarStreams(try #require(rig.far.driver.layer.streams))
    let farChannel = try #require(rig.far.channel)
    try farChannel.pipeline.syncOperations.addHandler(far)
    farChannel.startReading()
    try streams.start()
  }

  /// Begins a stream that is read, and has said something.
  private func open() throws -> (channel: StreamChannel, reader: RecordingReader) {
    let channel = try #require(streams.open())
    let reader = RecordingReader()
    try channel.pipeline.syncOperations.addHandler(reader)
    channel.startReading()
    channel.writeAndFlush(ByteBuffer(string: "hello"), promise: nil)
    try rig.run(for: .milliseconds(100))
    return (channel, reader)
  }

  @Test("each stream is a channel, and there are as many as the far end takes")
  func channels() throws {
    let (first, second) = try (open(), open())
    _ = try open()
    #expect(streams.open() == nil && first.channel.streamLimit == 3)
    far.write("one", to: 0)
    far.write("two", to: 1)
    try rig.run(for: .milliseconds(100))
    #expect(first.reader.text == "one" && second.reader.text == "two")
    #expect(far.received == ["hello", "hello", "hello"])
  }

  @Test("a stream that is not read keeps no other from its bytes")
  func slowReader() throws {
    let unread = try #require(streams.open())
    unread.writeAndFlush(ByteBuffer(string: "hello"), promise: nil)
    let other = try open()
    far.write(String(repeating: "x", count: 40_000), to: 0)
    try rig.run(for: .seconds(5))
    far.write("two", to: 1)
    try rig.run(for: .milliseconds(200))
    #expect(other.reader.text == "two")
    // As much as it was granted is on its way or here, and nothing more.
    #expect(far.unsent(of: 0) == 40_000 - 16_320)
    let reader = RecordingReader()
    try unread.pipeline.syncOperations.addHandler(reader)
    unread.startReading()
    try rig.run(for: .seconds(5))
    #expect(reader.text.utf8.count == 40_000)
  }

  @Test("a far end that does not read a stream stops that one only")
  func slowFarEnd() throws {
    far.consumes = { $0 != 0 }
    let (first, second) = try (open(), open())
    for channel in [first.channel, second.channel] {
      channel.writeAndFlush(ByteBuffer(string: String(repeating: "x", count: 2000)), promise: nil)
    }
    try rig.run(for: .seconds(2))
    // The credit of four units is used.
    #expect(far.received[0].utf8.count == 256 && far.received[1].utf8.count == 2005)
    #expect(first.channel.room == 0 && second.channel.room > 0)
  }

  @Test("a stream that is closed leaves the others, and the session ends with the last one")
  func closing() throws {
    let (first, second) = try (open(), open())
    first.channel.close(promise: nil)
    try rig.run(for: .milliseconds(200))
    #expect(far.events == ["opened 0", "opened 1", "aborted 0", "freed 0"])
    #expect(first.reader.events.last == "inactive" && rig.near.ends.isEmpty)
    far.write("two", to: 1)
    try rig.run(for: .milliseconds(200))
    #expect(second.reader.text == "two")
    second.channel.close(promise: nil)
    try rig.run(for: .seconds(1))
    #expect(second.reader.events.last == "inactive" && rig.near.ends == [.finished] && streams.isOver)
  }

  @Test("a stream whose far end has ended is closed by an end, and its number serves again")
  func ends() throws {
    let (first, _) = try (open(), open())
    far.finish(0)
    try rig.run(for: .milliseconds(100))
    #expect(first.reader.events.last == "input closed")
    first.channel.close(promise: nil)
    try rig.run(for: .milliseconds(100))
    #expect(far.events.suffix(2) == ["ended 0", "freed 0"])
    _ = try open()
    #expect(far.events.last == "opened 0")
  }

  @Test("an abort of the far end is an error on its stream only, behind the bytes before it")
  func aborted() throws {
    let (first, second) = try (open(), open())
    far.write("half", to: 0)
    try rig.run(for: .milliseconds(100))
    far.abort(0)
    try rig.run(for: .milliseconds(100))
    #expect(first.reader.text == "half")
    #expect(first.reader.events.contains { $0.hasPrefix("error: ") && $0.contains("has cut the connection off") })
    #expect(first.reader.events.last == "inactive")
    #expect(second.channel.isActive && rig.near.ends.isEmpty)
  }

  @Test("a far end that breaks the rules ends the session, and the error says so")
  func violation() throws {
    let (first, second) = try (open(), open())
    far.say([0x12, 1, 1])
    try rig.run(for: .milliseconds(200))
    for reader in [first.reader, second.reader] {
      #expect(reader.events.contains { $0.contains("sends on a stream that is free: use the same version of byway") })
      #expect(reader.events.last == "inactive")
    }
    #expect(rig.near.ends == [.abortedHere] && rig.far.ends == [.aborted] && streams.isOver)
  }

  @Test("streams wait for an unplugged line, and go on behind it")
  func unplugged() throws {
    let (first, second) = try (open(), open())
    try rig.unplug()
    far.write("one", to: 0)
    try rig.run(for: .seconds(1))
    #expect(first.channel.interruption != nil && second.channel.interruption != nil)
    try rig.plugIn()
    try rig.run(for: .seconds(2))
    #expect(first.reader.text == "one" && first.channel.interruption == nil)
  }

  @Test("if the line does not come back, all streams end with the reason")
  func lost() throws {
    let (first, second) = try (open(), open())
    try rig.unplug()
    try rig.run(for: .seconds(32))
    for reader in [first.reader, second.reader] {
      #expect(reader.events.contains { $0.contains("did not come back in time") })
    }
    #expect(streams.isOver)
  }
}
