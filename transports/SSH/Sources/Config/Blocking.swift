import Byway
import NIOPosix

/// Runs blocking or CPU-heavy work on a thread pool instead of an event loop.
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
