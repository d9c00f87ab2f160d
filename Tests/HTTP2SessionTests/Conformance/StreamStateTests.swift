import BywayHTTP2Session
import Testing

/// RFC 9113 §5: every kind of frame in every stream state that a client can cause.
@Suite struct StreamStateTests {
  /// The states of stream 1, on a server that does or does not respond.
  enum State: String, CaseIterable, Sendable {
    case idle, open, halfClosedRemote, closedByEnd, closedByPeerReset, closedByOurReset

    func enter(_ client: RawClient) {
      client.answers = self == .closedByEnd
      switch self {
      case .idle: break
      case .open: client.send(.post(1))
      case .halfClosedRemote, .closedByEnd: client.send(.get(1))
      case .closedByPeerReset: client.send(.post(1), .reset(1))
      case .closedByOurReset:
        client.send(.post(1))
        client.server.reset(1, .cancel)
        client.turn()
      }
      client.answers = true
    }
  }

  enum Input: String, CaseIterable, Sendable {
    case data, headers, priority, reset, windowUpdate, continuation, pushPromise

    var frame: RawFrame {
      switch self {
      case .data: .data(1, [1], flags: RawFrame.endStream)
      case .headers: .headers(1, HPACK.block([("x-trailer", "1")]))
      case .priority: .priority(1, on: 3)
      case .reset: .reset(1)
      case .windowUpdate: .windowUpdate(1, 100)
      case .continuation: .continuation(1, [])
      case .pushPromise: .pushPromise(1, 2)
      }
    }
  }

  @Test("section 5.1: each frame in each state", arguments: State.allCases, Input.allCases)
  func table(_ state: State, _ input: Input) {
    let client = RawClient()
    state.enter(client)
    ConformanceCase("\(input.rawValue) on \(state.rawValue)", [input.frame], verdict(state, input)).check(client)
  }

  private func verdict(_ state: State, _ input: Input) -> ConformanceCase.Verdict {
    switch (state, input) {
    case (_, .continuation), (_, .pushPromise): .connectionError([.protocolError])
    case (_, .priority): .ignored
    // Trailers without a request are a malformed header block.
    case (.idle, .headers): .streamError(1, [.protocolError])
    case (.idle, _): .connectionError([.protocolError])
    case (.open, .data), (.open, .headers): .answered(1)
    case (.open, _): .ignored
    case (.halfClosedRemote, .data), (.halfClosedRemote, .headers): .streamError(1, [.streamClosed])
    case (.halfClosedRemote, _): .ignored
    case (.closedByEnd, .data), (.closedByEnd, .headers): .connectionError([.streamClosed])
    case (.closedByPeerReset, .data), (.closedByPeerReset, .headers): .streamError(1, [.streamClosed])
    case (.closedByEnd, _), (.closedByPeerReset, _): .ignored
    // The client cannot know of the reset yet, so all its frames are dropped.
    case (.closedByOurReset, _): .ignored
    }
  }

  @Test(
    "sections 5.1.1, 5.1.2, 5.3, 5.5: stream ids, concurrency, priority, extensions",
    arguments: cases) func identifiers(_ conformance: ConformanceCase)
  {
    conformance.check()
  }

  static let cases: [ConformanceCase] = [
    .init("5.1.1 an even stream identifier", [.get(2)], .connectionError([.protocolError])),
    .init(
      "5.1.1 an identifier lower than one before", [.get(5), .get(3)],
      .connectionError([.protocolError])),
    .init("5.1.1 an identifier used again", [.get(1), .get(1)], .connectionError([.protocolError, .streamClosed])),
    .init("5.1.1 identifiers may be skipped", [.get(1), .get(9)], .answered(9)),
    .init("5.1.1 the highest identifier", [.get(0x7FFF_FFFF)], .answered(0x7FFF_FFFF)),
    .init(
      "5.3.1 HEADERS that depend on their own stream",
      [.headers(1, [0, 0, 0, 1, 15] + HPACK.get, flags: 0x25)], .streamError(1, [.protocolError])),
    .init("5.3.1 PRIORITY that depends on its own stream", [.priority(1, on: 1)], .streamError(1, [.protocolError])),
    .init(
      "5.3.1 PRIORITY that depends on itself, later", [.get(1), .priority(3, on: 3)], .streamError(3, [.protocolError])),
    .init("5.3.2 PRIORITY on an idle stream", [.priority(5, on: 3), .get(5)], .answered(5)),
    .init(
      "5.5 an extension frame between frames of a message",
      [.post(1), RawFrame(type: 0xF0, id: 1), .data(1, [], flags: 1)], .answered(1)),
  ]

  @Test("5.1.2 a stream above the limit is refused, and a peer that has acknowledged the limit is disconnected")
  func concurrency() {
    var configuration = HTTP2Configuration.defaults
    configuration.streams.maximumConcurrent = 2
    let informed = RawClient(configuration)
    informed.answers = false
    informed.send(.get(1), .get(3), .get(5))
    #expect(informed.connectionError == .protocolError)

    let ignorant = RawClient(configuration, handshake: false)
    ignorant.answers = false
    ignorant.send(bytes: RawClient.magic + RawFrame.settings().bytes)
    ignorant.send(.get(1), .get(3), .post(5))
    #expect(ignorant.streamError(5) == .refusedStream)
    // Frames already on their way are not an error.
    ignorant.send(.data(5, [1]), .data(5, [2], flags: RawFrame.endStream))
    #expect(ignorant.isAlive)
  }

  @Test("5.4.2 a stream error does not affect other streams") func streamError() {
    let client = RawClient()
    client.send(.post(1, [("content-length", "2")]), .post(3))
    client.send(.data(1, [1], flags: RawFrame.endStream), .data(3, [1], flags: RawFrame.endStream))
    #expect(client.streamError(1) == .protocolError)
    #expect(client.isAnswered(3))
  }
}
