import Byway
import BywayPrimitives
import NIOCore

extension Response {
  /// Releases an answer that no caller will see, before the next request is sent.
  ///
  /// A short body is read first: over HTTP/1.1, dropping a body closes its connection.
  package consuming func discard() async {
    let body = body
    guard let length = body.length, length > 0, length <= 64 * 1024 else { return }
    _ = try? await withTimeLimit(.seconds(1), throwing: CancellationError(), waits: true) {
      for try await _ in body {}
    }
  }
}
