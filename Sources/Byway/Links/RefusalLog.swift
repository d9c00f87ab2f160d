package import Logging
package import NIOCore
import Synchronization

/// Logs the refused clients of a listener at a limited rate, because any client can cause many refusals.
///
/// Safe on any thread.
package final class RefusalLog: Sendable {
  private let logger: Logger
  private let report: (@Sendable (ClientRefusal) -> Void)?
  /// The logs by reason; there are as many as reasons.
  private let logs = Mutex<[String: SparseLog]>([:])

  /// - Parameter report: called for each refusal.
  package init(_ logger: Logger, report: (@Sendable (ClientRefusal) -> Void)? = nil) {
    self.logger = logger
    self.report = report
  }

  /// Records a refusal.
  /// - Parameters:
  ///   - reason: one of few sentences, without anything that the client sent.
  ///   - names: the names in the client's certificate.
  package func refused(_ peer: SocketAddress?, names: [String] = [], because reason: String) {
    let refusal = ClientRefusal(of: peer, names: names, reason: reason)
    report?(refusal)
    let keptBack = logs.withLock { $0[reason, default: SparseLog()].admit(at: .now()) }
    guard let keptBack else { return }
    var metadata: Logger.Metadata = ["peer": "\(peer?.place ?? "unknown")"]
    if !refusal.names.isEmpty { metadata["certificate"] = "\(refusal.names.joined(separator: " "))" }
    if keptBack > 0 { metadata["repeated"] = "\(keptBack)" }
    logger.warning("\(reason)", metadata: metadata)
  }
}

extension SocketAddress {
  /// `127.0.0.1:60666`
  fileprivate var place: String {
    guard let ipAddress, let port else { return description }
    return "\(LinkAddress.HostPort(host: ipAddress, port: port))"
  }
}
