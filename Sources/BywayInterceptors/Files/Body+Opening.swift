import Byway
import NIOPosix

extension Body {
  /// A file as a body, opened on a thread that may block.
  static func opening(file path: String) async throws -> Body {
    try await NIOThreadPool.singleton.runIfActive { try Body(file: path) }
  }
}
