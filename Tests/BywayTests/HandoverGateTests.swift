import Byway
import NIOCore
import NIOEmbedded
import Testing

@Suite("The gate of a channel that waits for its owner") struct HandoverGateTests {
  @Test("keeps data, events and errors in their order until the first read")
  func keepsUntilRead() throws {
    let (channel, gate, owner) = try Self.channel()
    gate.hold()
    channel.pipeline.fireChannelRead(ByteBuffer(string: "early"))
    channel.pipeline.fireChannelReadComplete()
    channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    channel.pipeline.fireErrorCaught(ChannelError.ioOnClosedChannel)
    #expect(owner.seen.isEmpty)

    channel.read()
    #expect(owner.seen == ["early", "complete", "inputClosed", "error"])
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test("leaves the pipeline with the first read, and later data passes")
  func leaves() throws {
    let (channel, gate, owner) = try Self.channel()
    gate.hold()
    channel.pipeline.fireChannelRead(ByteBuffer(string: "early"))
    channel.read()
    #expect(throws: ChannelPipelineError.notFound) {
      try channel.pipeline.syncOperations.handler(type: HandoverGate.self)
    }
    channel.pipeline.fireChannelRead(ByteBuffer(string: "late"))
    #expect(owner.seen == ["early", "late"])
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test("stays while it is open, because it may be closed later")
  func staysWhileOpen() throws {
    let (channel, gate, owner) = try Self.channel()
    channel.read()
    channel.pipeline.fireChannelRead(ByteBuffer(string: "handshake"))
    gate.hold()
    channel.pipeline.fireChannelRead(ByteBuffer(string: "early"))
    #expect(owner.seen == ["handshake"])
    channel.read()
    #expect(owner.seen == ["handshake", "early"])
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test("passes on what it keeps when the channel closes without a read")
  func closes() throws {
    let (channel, gate, owner) = try Self.channel()
    gate.hold()
    channel.pipeline.fireChannelRead(ByteBuffer(string: "last words"))
    channel.pipeline.fireChannelInactive()
    #expect(owner.seen == ["last words", "inactive"])
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test("passes on no byte twice if its owner reads while it gets them")
  func readsAgain() throws {
    let (channel, gate, owner) = try Self.channel(readsAgain: true)
    gate.hold()
    channel.pipeline.fireChannelRead(ByteBuffer(string: "one"))
    channel.pipeline.fireChannelRead(ByteBuffer(string: "two"))
    channel.read()
    #expect(owner.seen == ["one", "two"])
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  private static func channel(readsAgain: Bool = false) throws -> (EmbeddedChannel, HandoverGate, Owner) {
    let channel = EmbeddedChannel()
    let gate = HandoverGate()
    let owner = Owner(readsAgain: readsAgain)
    try channel.pipeline.syncOperations.addHandlers(gate, owner)
    return (channel, gate, owner)
  }
}

/// Notes what arrives.
private final class Owner: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private(set) var seen: [String] = []
  private let readsAgain: Bool

  init(readsAgain: Bool) {
    self.readsAgain = readsAgain
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    seen.append(String(buffer: unwrapInboundIn(data)))
    if readsAgain { context.read() }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    seen.append("complete")
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent { seen.append("\(event)") }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    seen.append("error")
  }

  func channelInactive(context: ChannelHandlerContext) {
    seen.append("inactive")
  }
}
