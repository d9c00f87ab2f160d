import Byway
import HTTPTypes
import NIOCore
import Synchronization

/// A WebSocket server with control over every byte, so that it can violate the protocol.
final class SocketServer: Sendable {
  /// A frame of the client without its mask: opcode and content.
  typealias Frame = (opcode: UInt8, content: [UInt8])

  private let incoming: Body.AsyncIteratorBox
  private let outgoing: AsyncStream<ByteBuffer>.Continuation

  fileprivate init(_ body: Body, _ outgoing: AsyncStream<ByteBuffer>.Continuation) {
    incoming = Body.AsyncIteratorBox(body)
    self.outgoing = outgoing
  }

  /// Returns a handler whose WebSockets run `script`; the connection ends when it returns.
  static func handler(
    _ fields: HTTPFields = [:], _ script: @escaping @Sendable (SocketServer) async throws -> Void
  ) -> @Sendable (Request) async throws -> Response {
    { request in
      let (stream, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
      let server = SocketServer(request.body, continuation)
      let task = Task {
        try? await script(server)
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
      return Response(status: .ok, fields: fields, body: Body(stream))
    }
  }

  func send(_ bytes: [UInt8]) {
    outgoing.yield(ByteBuffer(bytes: bytes))
  }

  /// Returns the client's next frame; `nil` after its last one. The frames of this suite are short.
  func receive() async throws -> Frame? {
    guard let head = try await incoming.take(2), let mask = try await incoming.take(4) else { return nil }
    // Every frame of a client is masked (RFC 6455 §5.1).
    guard head[1] & 0x80 != 0 else { return (0xFF, []) }
    let masked = try await incoming.take(Int(head[1] & 0x7F)) ?? []
    return (head[0] & 0x0F, masked.enumerated().map { $1 ^ mask[$0 % 4] })
  }
}

extension Body {
  /// Reads a body in pieces of the reader's choosing; one task at a time.
  fileprivate final class AsyncIteratorBox: @unchecked Sendable {
    private var chunks: Body.AsyncIterator
    private var bytes: [UInt8] = []

    init(_ body: Body) {
      chunks = body.makeAsyncIterator()
    }

    func take(_ count: Int) async throws -> [UInt8]? {
      while bytes.count < count {
        guard let chunk = try await chunks.next() else { return nil }
        bytes += Array(buffer: chunk)
      }
      defer { bytes.removeFirst(count) }
      return Array(bytes.prefix(count))
    }
  }
}
