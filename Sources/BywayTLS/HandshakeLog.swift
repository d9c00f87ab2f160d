import Byway
package import Logging
import NIOCore
import Synchronization

/// What the log tells of handshakes that a listener's clients have failed: anyone who reaches it can cause as many as they like.
///
/// Safe on any thread.
package final class HandshakeLog: Sendable {
  private let logger: Logger
  /// By what went wrong, in our own words: there are as many as reasons.
  private let logs = Mutex<[String: SparseLog]>([:])

  package init(_ logger: Logger) {
    self.logger = logger
  }

  func failed(_ error: BywayError, with peer: String) {
    let keptBack = logs.withLock { $0[error.message, default: SparseLog()].admit(at: .now()) }
    guard let keptBack else { return }
    var metadata: Logger.Metadata = ["peer": "\(peer)"]
    if keptBack > 0 { metadata["repeated"] = "\(keptBack)" }
    logger.warning("\(error.message)", metadata: metadata)
  }
}
