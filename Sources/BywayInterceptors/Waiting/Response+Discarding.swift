import Byway
import NIOCore
import Primitives

extension Response {
  /// Lets go of an answer that nobody will see, before its successor is asked for.
  ///
  /// A short body is read first: over HTTP/1.1 one that is dropped takes its connection with it.
  package consuming func discard() async {
    let body = body
    guard let length = body.length, length > 0, length <= 64 * 1024 else { return }
    _ = try? await withTimeLimit(.seconds(1), throwing: CancellationError(), waits: true) {
      for try await _ in body {}
    }
  }
}
