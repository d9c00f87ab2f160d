import BywayHTTP2Session
import Testing

/// A sequence of frames from a client, and the server's required reaction.
struct ConformanceCase: Sendable, CustomTestStringConvertible {
  enum Verdict: Sendable {
    /// The whole session ends with one of these codes.
    case connectionError([HTTP2ErrorCode])
    /// The stream ends with one of these codes, or the session does (RFC 9113 §5.4 allows to be stricter).
    case streamError(UInt32, [HTTP2ErrorCode])
    /// The frames are valid: the stream gets a response.
    case answered(UInt32)
    /// The frames are valid or ignored: a PING gets an answer.
    case ignored
  }

  var testDescription: String
  var frames: [RawFrame]
  var verdict: Verdict

  init(_ description: String, _ frames: [RawFrame], _ verdict: Verdict) {
    testDescription = description
    self.frames = frames
    self.verdict = verdict
  }

  func check(_ client: RawClient = RawClient(), sourceLocation: SourceLocation = #_sourceLocation) {
    client.send(frames)
    switch verdict {
    case .connectionError(let codes):
      let code = client.connectionError
      #expect(code.map(codes.contains) == true, "got \(describe(code))", sourceLocation: sourceLocation)
      #expect(client.server.isFinished, sourceLocation: sourceLocation)
      #expect(client.events.failure?.code == code, sourceLocation: sourceLocation)
    case .streamError(let id, let codes):
      let code = client.connectionError ?? client.streamError(id)
      #expect(code.map(codes.contains) == true, "got \(describe(code))", sourceLocation: sourceLocation)
      if client.connectionError == nil { #expect(client.isAlive, sourceLocation: sourceLocation) }
    case .answered(let id):
      #expect(client.isAnswered(id), "got \(client.frames)", sourceLocation: sourceLocation)
      #expect(client.isAlive, sourceLocation: sourceLocation)
    case .ignored:
      #expect(client.isAlive, "got \(client.frames)", sourceLocation: sourceLocation)
    }
  }

  private func describe(_ code: HTTP2ErrorCode?) -> String {
    code.map { "\($0)" } ?? "no error"
  }
}
