package import BywayHTTP2Session

extension BywayError {
  /// - Parameter server: the expected remote end; `nil` if it is a client.
  package init(_ failure: HTTP2Failure, from server: ServerKind? = nil) {
    let code: Code =
      switch failure.kind {
      case .notHTTP2, .violation, .flooded: .protocolViolation
      // For a peer that never spoke, another attempt at once would not help.
      case .silent: .linkUnavailable
      case .unresponsive, .exhausted: .linkLost
      case .closing: .refused
      }
    var message = failure.message
    if case .notHTTP2(let heard) = failure.kind, let server, let unexpectedPeer = UnexpectedPeer(heard) {
      message += " \(unexpectedPeer.diagnosis(expecting: server).sentence)"
    }
    self.init(code, message, processing: failure.kind == .closing ? .none : .possible, cause: nil)
    if case .notHTTP2(let heard) = failure.kind { evidence = UnexpectedBytes(heard: heard) }
  }
}
