import Byway
import NIOPosix

extension Body {
  /// Opens a file as a body, on a thread that may block.
  static func opening(file path: String) async throws -> Body {
    try await NIOThreadPool.singleton.runIfActive { try Body(file: path) }
  }
}
