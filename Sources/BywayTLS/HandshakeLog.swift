package import Byway
package import Logging
import NIOCore
import Synchronization

/// Logs failed handshakes of a listener's clients at a limited rate, because any client can cause many.
///
/// Safe on any thread.
package final class HandshakeLog: Sendable {
  private let logger: Logger
  private let refused: (@Sendable (ClientRefusal) -> Void)?
  /// The logs by message; there are as many messages as reasons.
  private let logs = Mutex<[String: SparseLog]>([:])

  /// - Parameter refused: called for each failed handshake.
  package init(_ logger: Logger, refused: (@Sendable (ClientRefusal) -> Void)? = nil) {
    self.logger = logger
    self.refused = refused
  }

  func failed(_ error: BywayError, with peer: SocketAddress?) {
    let names = (error.evidence as? TLSEvidence)?.names ?? []
    let refusal = ClientRefusal(of: peer, names: names, reason: error.message)
    refused?(refusal)
    let keptBack = logs.withLock { $0[error.message, default: SparseLog()].admit(at: .now()) }
    guard let keptBack else { return }
    var metadata: Logger.Metadata = ["peer": "\(peer?.place ?? "unknown")"]
    if !refusal.names.isEmpty { metadata["certificate"] = "\(refusal.names.joined(separator: " "))" }
    if keptBack > 0 { metadata["repeated"] = "\(keptBack)" }
    logger.warning("\(error.message)", metadata: metadata)
  }
}

extension SocketAddress {
  /// `127.0.0.1:60666`
  fileprivate var place: String {
    guard let ipAddress, let port else { return description }
    return "\(LinkAddress.HostPort(host: ipAddress, port: port))"
  }
}
