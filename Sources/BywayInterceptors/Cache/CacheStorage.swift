import Byway
import NIOCore

/// Where the bodies of a cache are, and its heads where they are to outlive the process.
protocol CacheStorage: Sendable {
  /// A place for a body that is about to come.
  func writer(for id: UInt64) async throws -> any CacheWriter
  /// The body of a response that was stored.
  /// - Throws: where it is gone.
  func body(of id: UInt64) async throws -> Body
  /// Keeps a head, and the body that it has already, beyond the end of the process. Until it returns, nothing else saves or deletes
  /// that response.
  func save(_ response: StoredResponse, in kind: Cache.Kind) async throws
  func delete(_ ids: [UInt64]) async
}

/// Takes one body. Its last reference, dropped before ``finish()``, leaves nothing behind.
protocol CacheWriter: Sendable {
  func write(_ chunk: ByteBuffer) async throws
  /// The body can be read from now on.
  func finish() async throws
}
