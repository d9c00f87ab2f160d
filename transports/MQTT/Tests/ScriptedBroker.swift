import NIOCore
import NIOPosix
import Synchronization

/// A server that reads the packets of MQTT clients, and answers each of them with any bytes.
final class ScriptedBroker: Sendable {
  struct Packet: Sendable {
    /// The type and the flags.
    var head: UInt8
    var body: [UInt8]

    /// The number that SUBSCRIBE begins with, and PUBLISH has after its topic.
    var number: [UInt8] {
      head & 0xF0 == 0x30
        ? Array(body.dropFirst(2 + Int(body[0]) << 8 + Int(body[1])).prefix(2)) : Array(body.prefix(2))
    }

    /// A packet of less than 128 bytes, or with a longer body.
    static func bytes(_ head: UInt8, _ body: [UInt8]) -> [UInt8] {
      var (length, rest) = ([UInt8](), body.count)
      repeat {
        length.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
        rest >>= 7
      } while rest > 0
      return [head] + length + body
    }
  }

  private struct Record {
    var packets: [Packet] = []
    var channel: (any Channel)?
    var isEnded = false
  }

  private let record: Mutex<Record>
  private let listener: any Channel

  var port: Int { listener.localAddress?.port ?? 0 }
  var packets: [Packet] { record.withLock(\.packets) }
  /// Whether the connection of a client has ended.
  var isEnded: Bool { record.withLock(\.isEnded) }

  /// - Parameter answer: returns the bytes to send after a packet; `nil` to stop reading.
  init(_ answer: @escaping @Sendable (Packet) -> [UInt8]?) async throws {
    let record = Box()
    listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Reader(record, answer))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    self.record = Mutex(Record())
    record.broker.withLock { $0 = self }
  }

  /// Sends bytes to the client.
  func send(_ bytes: [UInt8]) {
    record.withLock(\.channel)?.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
  }

  /// Ends the connection of the client.
  func cut() {
    record.withLock(\.channel)?.close(promise: nil)
  }

  func stop() async throws {
    cut()
    try await listener.close().get()
  }

  private final class Box: Sendable {
    let broker = Mutex<ScriptedBroker?>(nil)
  }

  fileprivate func took(_ packet: Packet, from channel: any Channel) {
    record.withLock {
      $0.packets.append(packet)
      if packet.head == 0x10 { $0.channel = channel }
    }
  }

  fileprivate func ended(_ channel: any Channel) {
    record.withLock { if $0.channel === channel { $0.isEnded = true } }
  }

  private final class Reader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let box: Box
    private let answer: @Sendable (Packet) -> [UInt8]?
    private var bytes = ByteBuffer()

    init(_ box: Box, _ answer: @escaping @Sendable (Packet) -> [UInt8]?) {
      (self.box, self.answer) = (box, answer)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      bytes.writeImmutableBuffer(unwrapInboundIn(data))
      while let packet = next() {
        box.broker.withLock(\.self)?.took(packet, from: context.channel)
        guard let answer = answer(packet) else {
          _ = context.channel.setOption(.autoRead, value: false)
          return
        }
        if !answer.isEmpty {
          context.writeAndFlush(NIOAny(ByteBuffer(bytes: answer)), promise: nil)
        }
      }
    }

    func channelInactive(context: ChannelHandlerContext) {
      box.broker.withLock(\.self)?.ended(context.channel)
    }

    private func next() -> Packet? {
      let view = Array(bytes.readableBytesView.prefix(5))
      guard let head = view.first, let end = view.dropFirst().firstIndex(where: { $0 < 0x80 }) else { return nil }
      let length = (1...end).reduce(0) { $0 | Int(view[$1] & 0x7F) << (7 * ($1 - 1)) }
      guard bytes.readableBytes >= end + 1 + length else { return nil }
      bytes.moveReaderIndex(forwardBy: end + 1)
      return bytes.readBytes(length: length).map { Packet(head: head, body: $0) }
    }
  }
}
