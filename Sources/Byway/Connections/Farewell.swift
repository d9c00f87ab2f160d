/// The reason for the end of a served connection, as far as the other end or the link has given one.
package enum Farewell: Sendable, Hashable {
  /// The other end does not want the connection, and has said why.
  case refused(String)
  /// The link failed.
  case failed(String)
}

extension Farewell {
  /// - Parameter error: the error that ended the connection, or an attempt to open it.
  init(_ error: any Error) {
    let failure = error as? BywayError
    switch failure?.diagnosis?.fault {
    case .clientCertificateRefused?, .clientCertificateWanted?: self = .refused(failure?.message ?? "\(error)")
    default: self = .failed("\(error)")
    }
  }
}
