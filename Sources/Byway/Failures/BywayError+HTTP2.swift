package import HTTP2Session

extension BywayError {
  package init(_ failure: HTTP2Failure) {
    let code: Code =
      switch failure.kind {
      case .notHTTP2, .violation, .flooded: .protocolViolation
      // One that never spoke does not become better by trying again at once.
      case .unresponsive where failure.code == .settingsTimeout: .linkUnavailable
      case .unresponsive, .linkEnded, .exhausted: .linkLost
      case .closing: .refused
      }
    self.init(code, failure.message, processing: failure.kind == .closing ? .none : .possible, cause: nil)
  }
}
