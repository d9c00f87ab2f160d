import Byway
package import Logging
import NIOCore
import Synchronization

/// Logs failed handshakes of a listener's clients at a limited rate, because any client can cause many.
///
/// Safe on any thread.
package final class HandshakeLog: Sendable {
  private let logger: Logger
  /// The logs by message; there are as many messages as reasons.
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
