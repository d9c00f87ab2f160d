import Byway
import HTTPTypes
import NIOCore
import TestPeers

/// A WebSocket client (RFC 6455 §5) with unfragmented, masked frames.
final class ClientWebSocket {
  enum Opcode: UInt8 {
    case text = 1, binary, close = 8, ping, pong
  }

  struct Message: Equatable {
    let opcode: Opcode
    let content: [UInt8]

    init(_ opcode: Opcode, _ content: [UInt8]) {
      self.opcode = opcode
      self.content = content
    }
  }

  /// The fields of the response that opened the WebSocket.
  let fields: HTTPFields
  private let sender: AsyncStream<ByteBuffer>.Continuation
  private var chunks: Body.AsyncIterator
  private var received = ByteBuffer()

  init(_ client: BywayClient, _ head: HTTPRequest) async throws {
    let (outgoing, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    let response = try await client.execute(Request(head, body: Body(outgoing)))
    guard response.status == .ok else { throw PeerFailure("no WebSocket, but status \(response.status)") }
    fields = response.fields
    chunks = response.body.makeAsyncIterator()
    self.sender = sender
  }

  func send(_ opcode: Opcode, _ content: [UInt8]) {
    let mask: [UInt8] = [0xA5, 0x0F, 0x33, 0x81]
    var frame = ByteBuffer(bytes: [0x80 | opcode.rawValue])
    switch content.count {
    case ..<126: frame.writeInteger(0x80 | UInt8(content.count))
    case ..<(1 << 16):
      frame.writeBytes([0x80 | 126])
      frame.writeInteger(UInt16(content.count))
    default:
      frame.writeBytes([0x80 | 127])
      frame.writeInteger(UInt64(content.count))
    }
    frame.writeBytes(mask)
    frame.writeBytes(content.enumerated().map { $0.element ^ mask[$0.offset % 4] })
    sender.yield(frame)
  }

  /// Returns the next message; `nil` at the end of the connection.
  func next() async throws -> Message? {
    guard try await fill(2) else { return nil }
    let (first, second) = (received.readInteger(as: UInt8.self) ?? 0, received.readInteger(as: UInt8.self) ?? 0)
    var length = Int(second & 0x7F)
    if length == 126 {
      guard try await fill(2) else { return nil }
      length = Int(received.readInteger(as: UInt16.self) ?? 0)
    } else if length == 127 {
      guard try await fill(8) else { return nil }
      length = Int(received.readInteger(as: UInt64.self) ?? 0)
    }
    guard first & 0x80 != 0, let opcode = Opcode(rawValue: first & 0x0F), try await fill(length) else { return nil }
    return Message(opcode, received.readBytes(length: length) ?? [])
  }

  /// Returns the content of the next message if it is of that kind.
  func next(_ opcode: Opcode) async throws -> [UInt8]? {
    let message = try await next()
    return message?.opcode == opcode ? message?.content : nil
  }

  private func fill(_ count: Int) async throws -> Bool {
    while received.readableBytes < count {
      guard var chunk = try await chunks.next() else { return false }
      received.writeBuffer(&chunk)
    }
    return true
  }
}
