import Byway
import NIOCore
import Synchronization

/// A storage of bodies in memory.
final class MemoryStorage: CacheStorage {
  private let bodies = Mutex<[UInt64: ByteBuffer]>([:])

  func writer(for id: UInt64) -> any CacheWriter {
    Writer { body in self.bodies.withLock { $0[id] = body } }
  }

  func body(of id: UInt64) throws -> Body {
    guard let body = bodies.withLock({ $0[id] }) else {
      throw BywayError(.handlerFailed, "A stored response is no longer there.", processing: .none)
    }
    return Body(body)
  }

  func save(_ response: StoredResponse, in kind: CacheKind) {}

  func delete(_ ids: [UInt64]) {
    bodies.withLock { bodies in
      for id in ids { bodies[id] = nil }
    }
  }

  private final class Writer: CacheWriter {
    private let body = Mutex(ByteBuffer())
    private let keep: @Sendable (ByteBuffer) -> Void

    init(keep: @escaping @Sendable (ByteBuffer) -> Void) {
      self.keep = keep
    }

    func write(_ chunk: ByteBuffer) {
      body.withLock { _ = $0.writeImmutableBuffer(chunk) }
    }

    func finish() {
      // A copy of the exact size: the buffer in which it grew is half as large again.
      keep(body.withLock { ByteBuffer(bytes: $0.readableBytesView) })
    }
  }
}
