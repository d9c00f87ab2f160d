import Byway
import NIOPosix

/// Work that waits for a disk or computes for long, away from event loops.
enum Blocking {
  static func run<Value: Sendable>(
    _ body: @escaping @Sendable () throws(BywayError) -> Value
  ) async throws(BywayError) -> Value {
    do {
      return try await NIOThreadPool.singleton.runIfActive { Result(catching: body) }.get()
    } catch {
      throw BywayError(error)
    }
  }
}
