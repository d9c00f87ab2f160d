import Byway
import NIOCore

/// The storage of a cache's bodies, and of its heads if they are to outlive the process.
protocol CacheStorage: Sendable {
  /// Returns a writer for a body that is about to arrive.
  func writer(for id: UInt64) async throws -> any CacheWriter
  /// Returns the body of a stored response.
  /// - Throws: If it is gone.
  func body(of id: UInt64) async throws -> Body
  /// Saves a head beyond the end of the process, and with it the body that is there already. Until it returns, no other call saves
  /// or deletes that response.
  func save(_ response: StoredResponse, in kind: CacheKind) async throws
  func delete(_ ids: [UInt64]) async
}

/// A writer of one body. If its last reference is released before ``finish()``, nothing is left behind.
protocol CacheWriter: Sendable {
  func write(_ chunk: ByteBuffer) async throws
  /// Completes the body, which can be read from now on.
  func finish() async throws
}
