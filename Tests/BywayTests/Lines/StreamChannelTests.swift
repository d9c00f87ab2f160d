import NIOCore
import NIOEmbedded
import Testing

@testable import Byway

@Suite("Stream channel") struct StreamChannelTests {
  private let loop = EmbeddedEventLoop()
  private let carrier = RecordingCarrier()
  private let reader = RecordingReader()
  private let channel: StreamChannel

  init() throws {
    channel = StreamChannel(on: loop, carrier: carrier)
    carrier.channel = channel
    _ = channel.setOption(.allowRemoteHalfClosure, value: true)
    try channel.pipeline.syncOperations.addHandler(reader)
    channel.activate()
  }

  private func deliver(_ text: String) {
    channel.deliver(ByteBuffer(string: text))
    loop.run()
  }

  private func setAutoRead(_ isOn: Bool) {
    _ = channel.setOption(.autoRead, value: isOn)
    loop.run()
  }

  /// Writes a text, and returns the outcome of the write.
  private func write(_ text: String) -> Outcome {
    let promise = loop.makePromise(of: Void.self)
    channel.writeAndFlush(ByteBuffer(string: text), promise: promise)
    return Outcome(promise.futureResult)
  }

  private func close(_ mode: CloseMode = .all) -> Outcome {
    let promise = loop.makePromise(of: Void.self)
    channel.close(mode: mode, promise: promise)
    loop.run()
    return Outcome(promise.futureResult)
  }

  // MARK: Reading

  @Test("pieces of one byte that wait in a channel are merged") func merged() {
    setAutoRead(false)
    deliver("x")
    reader.events = []
    for _ in 0..<5000 {
      // A receiver's buffer is much larger than the byte in it.
      var piece = ByteBufferAllocator().buffer(capacity: 1024)
      piece.writeString("y")
      channel.deliver(piece)
    }
    loop.run()
    #expect(reader.events.isEmpty)
    channel.read()
    loop.run()
    #expect(reader.events.count <= 2)
    #expect(reader.text == "x" + String(repeating: "y", count: 5000))
    #expect(carrier.consumed == 5001)
  }

  @Test("a channel delivers received bytes, and reports them as consumed to the carrier")
  func delivery() {
    deliver("one ")
    deliver("two")
    #expect(reader.text == "one two")
    #expect(carrier.consumed == 7)
  }

  @Test("a channel with autoRead off holds received bytes until the next read")
  func autoRead() {
    // A read that was already requested still delivers.
    setAutoRead(false)
    deliver("one")
    #expect(reader.text == "one")
    deliver("two")
    deliver("three")
    #expect(reader.text == "one")
    #expect(carrier.consumed == 3)
    channel.read()
    loop.run()
    #expect(reader.text == "onetwothree")
    #expect(carrier.consumed == 11)
    deliver("four")
    #expect(reader.text == "onetwothree")
    setAutoRead(true)
    #expect(reader.text == "onetwothreefour")
  }

  @Test("a channel reports the peer's end, and can still send")
  func halfClosure() {
    deliver("last")
    channel.inputEnded()
    #expect(reader.events == ["last", "input closed"])
    #expect(channel.isActive)
    #expect(write("more").hasSucceeded)
    #expect(carrier.written == "more")
  }

  @Test("a channel without half-closure closes at the peer's end")
  func noHalfClosure() {
    _ = channel.setOption(.allowRemoteHalfClosure, value: false)
    channel.inputEnded()
    #expect(carrier.isClosed)
    channel.ended(nil)
    loop.run()
    #expect(reader.events == ["inactive"])
  }

  @Test("a channel reports the peer's end after all unread bytes")
  func endBehindBytes() {
    setAutoRead(false)
    deliver("one")
    deliver("two")
    channel.inputEnded()
    loop.run()
    #expect(reader.events == ["one"])
    channel.read()
    loop.run()
    #expect(reader.events == ["one", "two", "input closed"])
  }

  // MARK: Writing

  @Test("writes complete in order when their bytes have been sent")
  func writes() {
    carrier.keeps = true
    let (first, second) = (write("123"), write("4567"))
    #expect(first.isPending && second.isPending)
    carrier.leave(3)
    #expect(first.hasSucceeded && second.isPending)
    carrier.leave(3)
    #expect(second.isPending)
    carrier.leave(1)
    #expect(second.hasSucceeded)
  }

  @Test("an empty write completes after all earlier writes")
  func emptyWrite() {
    carrier.keeps = true
    _ = write("123")
    let empty = write("")
    #expect(empty.isPending)
    carrier.leave(3)
    #expect(empty.hasSucceeded)
  }

  @Test("a channel is writable while the carrier has room, and reports when it is writable again")
  func writability() {
    #expect(channel.isWritable)
    carrier.room = 0
    _ = write("full")
    #expect(!channel.isWritable)
    reader.events = []
    channel.drained()
    #expect(reader.events.isEmpty)
    carrier.room = 100
    channel.drained()
    channel.drained()
    #expect(channel.isWritable)
    #expect(reader.events == ["writable"])
  }

  @Test("a channel accepts only byte buffers")
  func wrongType() {
    let outcome = Outcome(channel.writeAndFlush("text"))
    #expect(outcome.error as? ChannelError == .operationUnsupported)
  }

  // MARK: Ending

  @Test("a channel ends its sending direction alone, and still delivers received bytes")
  func closingOutput() {
    #expect(close(.output).hasSucceeded)
    #expect(carrier.isOutputClosed && !carrier.isClosed)
    #expect(write("late").error as? ChannelError == .outputClosed)
    deliver("more")
    #expect(reader.text == "more")
  }

  @Test("a channel is closed when the carrier reports it, and not before")
  func closing() {
    let (first, second) = (close(), close())
    #expect(carrier.isClosed)
    #expect(first.isPending && second.isPending)
    #expect(write("late").error != nil)
    channel.ended(nil)
    loop.run()
    #expect(first.hasSucceeded && second.hasSucceeded)
    #expect(Outcome(channel.closeFuture).hasSucceeded)
    #expect(!channel.isActive)
    #expect(close().error as? ChannelError == .alreadyClosed)
    #expect(reader.events == ["inactive"])
  }

  @Test("a closing channel still accepts received bytes, so that the peer is not blocked")
  func arrivalsWhileClosing() {
    setAutoRead(false)
    deliver("one")
    deliver("two")
    _ = close()
    deliver("three")
    #expect(carrier.consumed == 11)
    #expect(reader.events == ["one"])
  }

  @Test("bytes received before a normal end can be read after it")
  func goodEnd() {
    setAutoRead(false)
    deliver("one")
    deliver("two")
    channel.inputEnded()
    channel.ended(nil)
    loop.run()
    #expect(reader.events == ["one"])
    #expect(channel.isActive)
    #expect(write("late").error as? ChannelError == .ioOnClosedChannel)
    channel.read()
    loop.run()
    #expect(reader.events == ["one", "two", "input closed", "inactive"])
    #expect(Outcome(channel.closeFuture).hasSucceeded)
  }

  @Test("a channel that has ended can be closed before all its bytes are read")
  func abandonedEnd() {
    setAutoRead(false)
    deliver("one")
    deliver("two")
    channel.inputEnded()
    channel.ended(nil)
    #expect(close().hasSucceeded)
    #expect(reader.events == ["one", "inactive"])
  }

  @Test("an abnormal end is an error, fails unsent writes and drops unread bytes")
  func badEnd() {
    carrier.keeps = true
    setAutoRead(false)
    deliver("one")
    deliver("two")
    let lost = write("lost")
    channel.ended(BywayError(.linkLost, "gone"))
    loop.run()
    #expect(reader.events == ["one", "error: gone (linkLost)", "inactive"])
    #expect((lost.error as? BywayError)?.code == .linkLost)
    #expect(write("late").error as? ChannelError == .ioOnClosedChannel)
    #expect(Outcome(channel.closeFuture).hasSucceeded)
  }

  @Test("an end that is reported after the last read reaches slow and fast readers alike")
  func endOnceRead() {
    setAutoRead(false)
    deliver("read already")
    deliver("unread")
    carrier.keeps = true
    let write = write("lost")
    channel.endedOnceRead(BywayError(.linkLost, "gone"))
    loop.run()
    #expect(reader.events == ["read already"] && channel.isActive)
    setAutoRead(true)
    #expect(reader.text == "read alreadyunread")
    #expect(reader.events.last == "inactive" && reader.events.contains { $0.hasPrefix("error: gone") })
    #expect(write.error != nil && !channel.isActive)
  }

  @Test("an error that waits for unread bytes is reported even if the peer's normal end follows it")
  func endAfterError() {
    setAutoRead(false)
    deliver("one")
    deliver("two")
    channel.endedOnceRead(BywayError(.linkLost, "gone"))
    channel.inputEnded()
    setAutoRead(true)
    #expect(reader.events == ["one", "two", "error: gone (linkLost)", "inactive"])
    #expect(Outcome(channel.closeFuture).hasSucceeded)
  }

  @Test("an error after the reported end of the peer's direction is reported at once")
  func errorAfterEnd() {
    channel.inputEnded()
    loop.run()
    #expect(reader.events == ["input closed"] && channel.isActive)
    channel.endedOnceRead(BywayError(.linkLost, "gone"))
    loop.run()
    #expect(reader.events == ["input closed", "error: gone (linkLost)", "inactive"])
    #expect(Outcome(channel.closeFuture).hasSucceeded)
  }

  @Test("a channel that is closed in both directions stays so when its sending direction is closed again")
  func closedTwice() {
    setAutoRead(false)
    deliver("one")
    let closed = close()
    #expect(close(.output).hasSucceeded)
    deliver("two")
    channel.read()
    loop.run()
    #expect(reader.text == "one" && carrier.consumed == 6)
    channel.ended(nil)
    loop.run()
    #expect(closed.hasSucceeded)
  }

  @Test("a handler that reads within a read does not recurse for every byte")
  func manualReading() {
    setAutoRead(false)
    reader.readsAgain = true
    for _ in 0..<10_000 { channel.deliver(ByteBuffer(string: "x")) }
    channel.inputEnded()
    loop.run()
    #expect(reader.text.count == 10_000)
    #expect(reader.events.last == "input closed")
  }
}
