/// How far a session is on the way to its end.
enum SessionPhase {
  case running
  /// The owner wants no new streams. The GOAWAY with this code is queued; without `isQueued` it was sent.
  case leaving(HTTP2ErrorCode, isQueued: Bool)
  /// The session has ended. Without `canSend` not even its GOAWAY leaves.
  case failed(HTTP2Failure, canSend: Bool)

  var isRunning: Bool { if case .running = self { true } else { false } }

  var hasFailed: Bool { if case .failed = self { true } else { false } }

  var canSend: Bool { if case .failed(_, canSend: false) = self { false } else { true } }

  var failure: HTTP2Failure? { if case .failed(let failure, _) = self { failure } else { nil } }
}
