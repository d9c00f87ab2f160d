import Byway
import HTTPTypes
import NIOCore
import Synchronization

/// The end of a chain: answers with a function, and keeps the requests that reached it.
final class TestOrigin: Sendable {
  private let received = Mutex<[Request]>([])
  private let respond: @Sendable (Request) async throws -> Response

  init(_ respond: @escaping @Sendable (Request) async throws -> Response = { _ in Response(status: .ok) }) {
    self.respond = respond
  }

  var requests: [Request] { received.withLock { $0 } }
  var heads: [HTTPRequest] { requests.map(\.head) }

  /// The chain in front of it.
  func behind(_ interceptors: any Interceptor...) -> Next {
    Next(interceptors[...]) { request in
      self.received.withLock { $0.append(request) }
      return try await self.respond(request)
    }
  }
}

extension Next {
  func get(_ url: String, _ fields: HTTPFields = [:]) async throws -> Response {
    var request = try Request(url: url)
    request.head.headerFields = fields
    return try await self(request)
  }

  func post(_ url: String, _ body: String) async throws -> Response {
    try await self(Request(.post, url: url, body: Body(body)))
  }
}

extension Response {
  /// The whole body.
  var text: String {
    get async throws { String(buffer: try await body.collect(upTo: 1 << 24)) }
  }
}

extension Body {
  /// A body that can be read once, in these chunks.
  static func once(_ chunks: String...) -> Body {
    let (stream, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
    for chunk in chunks { continuation.yield(ByteBuffer(string: chunk)) }
    continuation.finish()
    return Body(stream)
  }
}
