package import HTTP2Session

extension BywayError {
  /// - Parameter server: who should be at the far end; `nil` where it is a client.
  package init(_ failure: HTTP2Failure, from server: FarEnd? = nil) {
    let code: Code =
      switch failure.kind {
      case .notHTTP2, .violation, .flooded: .protocolViolation
      // One that never spoke does not become better by trying again at once.
      case .silent: .linkUnavailable
      case .unresponsive, .exhausted: .linkLost
      case .closing: .refused
      }
    var message = failure.message
    if case .notHTTP2(let heard) = failure.kind, let server, let stranger = Stranger(heard) {
      message += " \(stranger.advice(expecting: server))"
    }
    self.init(code, message, processing: failure.kind == .closing ? .none : .possible, cause: nil)
    if case .notHTTP2(let heard) = failure.kind { evidence = ForeignWords(heard: heard) }
  }
}
