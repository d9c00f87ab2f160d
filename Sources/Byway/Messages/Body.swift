public import HTTPTypes
public import NIOCore

/// The content of a message: chunks of bytes as they arrive, then optional trailers (RFC 9110 §6.4, §6.5).
///
/// Pulled, never pushed: the sender is slowed to the pace of the reader. A body from a link can be iterated once; a second iteration
/// throws. Safe to pass between threads.
public struct Body: AsyncSequence, Sendable {
  public typealias Element = ByteBuffer

  /// The size in bytes, if known in advance.
  public let length: Int?
  /// Whether the body can be iterated again from its beginning, which a retry, a redirect or an authentication round needs.
  public let isReplayable: Bool

  package enum Storage: Sendable {
    case buffer(ByteBuffer)
    case incoming(IncomingBodyHandle)
    case sequence(@Sendable () -> AsyncIterator, trailers: @Sendable () async -> HTTPFields?)
  }
  package let storage: Storage

  /// No content, no trailers.
  public static let empty = Body(ByteBuffer())

  /// Creates a body of bytes in memory. Replayable.
  public init(_ buffer: ByteBuffer) {
    length = buffer.readableBytes
    isReplayable = true
    storage = .buffer(buffer)
  }

  /// Creates a body of text in UTF-8. Replayable.
  public init(_ text: String) {
    self.init(ByteBuffer(string: text))
  }

  /// Creates a body from a sequence.
  /// - Parameters:
  ///   - source: iterated once, or each time the body is sent if it is replayable.
  ///   - length: the size in bytes; sending fails if the sequence yields another number.
  ///   - isReplayable: whether the sequence may be iterated more than once.
  ///   - trailers: called once, after the last chunk.
  public init<Source: AsyncSequence & Sendable>(
    _ source: Source, length: Int? = nil, isReplayable: Bool = false,
    trailers: @escaping @Sendable () async -> HTTPFields? = { nil }
  ) where Source.Element == ByteBuffer {
    self.length = length
    self.isReplayable = isReplayable
    storage = .sequence(
      {
        // The iterator never leaves the task that created it, but its type is not Sendable.
        nonisolated(unsafe) var iterator = source.makeAsyncIterator()
        return AsyncIterator { try await iterator.next() }
      }, trailers: trailers)
  }

  package init(_ incoming: IncomingBodyHandle, length: Int?) {
    self.length = length
    isReplayable = false
    storage = .incoming(incoming)
  }

  package var isKnownEmpty: Bool {
    if case .buffer(let buffer) = storage { buffer.readableBytes == 0 } else { false }
  }

  public func makeAsyncIterator() -> AsyncIterator {
    switch storage {
    case .buffer(let buffer):
      nonisolated(unsafe) var rest = buffer.readableBytes > 0 ? buffer : nil
      return AsyncIterator { rest.take() }
    case .incoming(let handle):
      return AsyncIterator { try await handle.next() }
    case .sequence(let make, _):
      return make()
    }
  }

  /// Returns the fields after the body. Available after the end of the iteration; `nil` before.
  public func trailers() async -> HTTPFields? {
    switch storage {
    case .buffer: nil
    case .incoming(let handle): await handle.trailers()
    case .sequence(_, let trailers): await trailers()
    }
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    private let pull: () async throws -> ByteBuffer?

    fileprivate init(_ pull: @escaping () async throws -> ByteBuffer?) {
      self.pull = pull
    }

    public mutating func next() async throws -> ByteBuffer? {
      try await pull()
    }
  }
}

extension Body {
  /// Collects the whole body in one buffer.
  /// - Throws: ``BywayError`` with code `tooLarge` past `limit` bytes.
  public func collect(upTo limit: Int) async throws -> ByteBuffer {
    var whole = ByteBuffer()
    for try await var chunk in self {
      guard whole.readableBytes + chunk.readableBytes <= limit else {
        throw BywayError(.tooLarge, "The body is larger than the \(limit) bytes that its reader allows.")
      }
      whole.writeBuffer(&chunk)
    }
    return whole
  }
}
