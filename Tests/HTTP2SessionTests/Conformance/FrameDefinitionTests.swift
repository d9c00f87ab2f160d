import BywayHTTP2Session
import Testing

/// RFC 9113 §6, §7.
@Suite struct FrameDefinitionTests {
  @Test("section 6: rules of each frame", arguments: cases) func frames(_ conformance: ConformanceCase) {
    conformance.check()
  }

  private static let headersFlags = RawFrame.endHeaders | RawFrame.endStream

  static let cases: [ConformanceCase] = [
    .init("6.1 DATA on stream 0", [.data(0, [1])], .connectionError([.protocolError])),
    .init(
      "6.1 DATA with more padding than payload", [.post(1), .data(1, [5, 1], flags: 0x9)],
      .connectionError([.protocolError])),
    .init(
      "6.1 DATA, padded, without a pad length", [.post(1), .data(1, [], flags: 0x9)],
      .connectionError([.protocolError, .frameSizeError])),
    .init("6.1 DATA with padding only", [.post(1), .data(1, [2, 0, 0], flags: 0x9)], .answered(1)),

    .init("6.2 HEADERS on stream 0", [.get(0)], .connectionError([.protocolError])),
    .init(
      "6.2 HEADERS with more padding than payload", [.headers(1, [200] + HPACK.get, flags: 0x8 | headersFlags)],
      .connectionError([.protocolError])),
    .init(
      "6.2 HEADERS too short for their priority", [.headers(1, [0, 0, 0], flags: 0x20 | headersFlags)],
      .connectionError([.frameSizeError, .protocolError])),
    .init(
      "6.2 HEADERS, padded and prioritized",
      [.headers(1, [3, 0, 0, 0, 0, 15] + HPACK.get + [0, 0, 0], flags: 0x28 | headersFlags)], .answered(1)),
    .init(
      "6.2 HEADERS in fragments",
      [
        .headers(1, Array(HPACK.get.prefix(5)), flags: RawFrame.endStream),
        .continuation(1, Array(HPACK.get[5..<20]), flags: 0), .continuation(1, Array(HPACK.get[20...])),
      ], .answered(1)),

    .init("6.3 PRIORITY on stream 0", [.priority(0, on: 1)], .connectionError([.protocolError])),
    .init(
      "6.3 PRIORITY of four bytes", [RawFrame(type: 2, id: 1, payload: [0, 0, 0, 3])],
      .streamError(1, [.frameSizeError])),
    .init(
      "6.3 PRIORITY of six bytes", [RawFrame(type: 2, id: 1, payload: [0, 0, 0, 3, 1, 1])],
      .streamError(1, [.frameSizeError])),
    .init("6.3 PRIORITY without payload", [RawFrame(type: 2, id: 1)], .streamError(1, [.frameSizeError])),

    .init("6.4 RST_STREAM on stream 0", [.reset(0)], .connectionError([.protocolError])),
    .init("6.4 RST_STREAM on an idle stream", [.reset(1)], .connectionError([.protocolError])),
    .init(
      "6.4 RST_STREAM of three bytes", [.post(1), RawFrame(type: 3, id: 1, payload: [0, 0, 0])],
      .connectionError([.frameSizeError])),
    .init(
      "6.4 RST_STREAM of five bytes", [.post(1), RawFrame(type: 3, id: 1, payload: [0, 0, 0, 0, 0])],
      .connectionError([.frameSizeError])),

    .init(
      "6.5 SETTINGS ACK with a payload", [RawFrame(type: 4, flags: 1, payload: [0, 1, 0, 0, 0, 0])],
      .connectionError([.frameSizeError])),
    .init("6.5 SETTINGS on a stream", [RawFrame(type: 4, id: 1)], .connectionError([.protocolError])),
    .init(
      "6.5 SETTINGS of five bytes", [RawFrame(type: 4, payload: [0, 3, 0, 0, 0])], .connectionError([.frameSizeError])),
    .init("6.5.2 ENABLE_PUSH of two", [.settings([(2, 2)])], .connectionError([.protocolError])),
    .init(
      "6.5.2 INITIAL_WINDOW_SIZE above 2^31 - 1", [.settings([(4, 1 << 31)])], .connectionError([.flowControlError])),
    .init("6.5.2 MAX_FRAME_SIZE below 2^14", [.settings([(5, 16_383)])], .connectionError([.protocolError])),
    .init("6.5.2 MAX_FRAME_SIZE above 2^24 - 1", [.settings([(5, 1 << 24)])], .connectionError([.protocolError])),
    .init(
      "6.5.2 ENABLE_CONNECT_PROTOCOL of two (RFC 8441 3)", [.settings([(8, 2)])], .connectionError([.protocolError])),
    .init("6.5.2 an unknown setting", [.settings([(0xFF, 1)]), .get(1)], .answered(1)),

    .init("6.6 PUSH_PROMISE from a client", [.post(1), .pushPromise(1, 2)], .connectionError([.protocolError])),

    .init(
      "6.7 PING on a stream", [RawFrame(type: 6, id: 1, payload: Array(repeating: 0, count: 8))],
      .connectionError([.protocolError])),
    .init(
      "6.7 PING of six bytes", [RawFrame(type: 6, payload: Array(repeating: 0, count: 6))],
      .connectionError([.frameSizeError])),
    .init("6.7 an unsolicited PING acknowledgement", [.ping(9, flags: RawFrame.ack)], .ignored),

    .init(
      "6.8 GOAWAY on a stream", [RawFrame(type: 7, id: 1, payload: Array(repeating: 0, count: 8))],
      .connectionError([.protocolError])),
    .init(
      "6.8 GOAWAY of seven bytes", [RawFrame(type: 7, payload: Array(repeating: 0, count: 7))],
      .connectionError([.frameSizeError])),

    .init("6.9 WINDOW_UPDATE of zero on the connection", [.windowUpdate(0, 0)], .connectionError([.protocolError])),
    .init(
      "6.9 WINDOW_UPDATE of zero on a stream", [.post(1), .windowUpdate(1, 0)], .streamError(1, [.protocolError])),
    .init(
      "6.9 WINDOW_UPDATE of three bytes", [RawFrame(type: 8, payload: [0, 0, 1])], .connectionError([.frameSizeError])),
    .init(
      "6.9 WINDOW_UPDATE of five bytes", [RawFrame(type: 8, payload: [0, 0, 0, 1, 0])],
      .connectionError([.frameSizeError])),
    .init(
      "6.9.1 a connection window above 2^31 - 1", [.windowUpdate(0, 0x7FFF_FFFF), .windowUpdate(0, 0x7FFF_FFFF)],
      .connectionError([.flowControlError])),
    .init(
      "6.9.1 a stream window above 2^31 - 1",
      [.post(1), .windowUpdate(1, 0x7FFF_FFFF), .windowUpdate(1, 0x7FFF_FFFF)], .streamError(1, [.flowControlError])),
    .init(
      "6.9.2 a setting that lifts an open window above 2^31 - 1",
      [.post(1), .windowUpdate(1, 0x7FFF_0000), .settings([(4, 0x7FFF_FFFF)])], .streamError(1, [.flowControlError])),

    .init("6.10 CONTINUATION on stream 0", [.continuation(0, [])], .connectionError([.protocolError])),
    .init(
      "6.10 CONTINUATION after a complete block", [.post(1), .continuation(1, [])], .connectionError([.protocolError])),
    .init(
      "6.10 CONTINUATION after the last CONTINUATION",
      [.headers(1, HPACK.get, flags: RawFrame.endStream), .continuation(1, []), .continuation(1, [])],
      .connectionError([.protocolError])),
    .init(
      "6.10 CONTINUATION of another stream", [.headers(1, HPACK.get, flags: RawFrame.endStream), .continuation(3, [])],
      .connectionError([.protocolError])),
    .init(
      "6.10 DATA instead of CONTINUATION", [.headers(1, HPACK.post, flags: 0), .data(1, [1])],
      .connectionError([.protocolError])),

    .init("7 an unknown code in RST_STREAM", [.post(1), .reset(1, 0xFF), .get(3)], .answered(3)),
  ]

  @Test("6.5.3 SETTINGS take effect in order, and are acknowledged") func settingsOrder() {
    let client = RawClient()
    client.send(.settings([(4, 100), (4, 1)]))
    #expect(client.frames.contains(.settingsAck))
    client.send(.get(1))
    #expect(client.frames.filter { $0.type == 0 }.map(\.payload.count) == [1])
  }

  @Test("6.7 PING is answered with the same bytes") func ping() {
    let client = RawClient()
    client.send(.ping(0x42))
    #expect(client.frames == [.ping(0x42, flags: RawFrame.ack)])
  }

  @Test("6.8 GOAWAY lets the open streams finish") func goAway() {
    let client = RawClient()
    client.send(.post(1), .goAway(0), .data(1, [1], flags: RawFrame.endStream))
    #expect(client.isAnswered(1))
    #expect(client.server.isFinished)
  }

  @Test("6.9 DATA waits for the stream's window and continues with it") func streamWindow() {
    let client = RawClient(settings: [(4, 3)])
    client.send(.get(1))
    #expect(client.frames.filter { $0.type == 0 }.map(\.payload.count) == [3])
    client.send(.windowUpdate(1, 1))
    client.send(.windowUpdate(1, 10))
    #expect(client.frames.filter { $0.type == 0 }.map(\.payload.count) == [3, 1, 1])
    #expect(client.isAnswered(1))
  }

  @Test("6.9.2 a window may become negative, and opens again") func negativeWindow() {
    let client = RawClient(settings: [(4, 3)])
    client.send(.get(1), .settings([(4, 2)]), .windowUpdate(1, 1))
    #expect(client.frames.filter { $0.type == 0 }.map(\.payload.count) == [3])
    client.send(.windowUpdate(1, 1))
    #expect(client.frames.filter { $0.type == 0 }.map(\.payload.count) == [3, 1])
    client.send(.settings([(4, 100)]))
    #expect(client.isAnswered(1))
  }

  @Test("6.9.1 DATA beyond the receiver's window is an error") func beyondWindow() {
    var configuration = HTTP2Configuration.defaults
    configuration.windows.initial = 1024
    configuration.windows.isEager = false
    let client = RawClient(configuration)
    client.answers = false
    client.send(.post(1), .data(1, Array(repeating: 0, count: 1024)), .data(1, [0]))
    #expect((client.connectionError ?? client.streamError(1)) == .flowControlError)
  }
}
