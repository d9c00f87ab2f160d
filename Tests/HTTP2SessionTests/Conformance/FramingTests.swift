import BywayHTTP2Session
import Testing

/// RFC 9113 §3.4, §4.
@Suite struct FramingTests {
  @Test("section 4: frames and header blocks", arguments: cases) func frames(_ conformance: ConformanceCase) {
    conformance.check()
  }

  static let oversized = [UInt8](repeating: 0, count: 16_385)
  static let ones = RawFrame.endHeaders | RawFrame.endStream

  static let cases: [ConformanceCase] = [
    .init("4.1 an unknown frame type is ignored", [RawFrame(type: 0xBB, payload: [1, 2, 3])], .ignored),
    .init("4.1 an unknown type on a stream that is idle", [RawFrame(type: 0xBB, id: 7, payload: [1])], .ignored),
    .init(
      "4.1 unknown flags are ignored",
      [RawFrame(type: 6, flags: 0x16, payload: Array(repeating: 0, count: 8))], .ignored),
    .init(
      "4.1 the reserved bit of the stream identifier is ignored",
      [RawFrame(type: 6, id: 0x8000_0000, payload: Array(repeating: 0, count: 8))], .ignored),
    .init(
      "4.2 DATA of the largest size", [.post(1), .data(1, Array(repeating: 0, count: 16_384), flags: 1)], .answered(1)),
    .init("4.2 DATA above the largest size", [.post(1), .data(1, oversized)], .streamError(1, [.frameSizeError])),
    .init("4.2 HEADERS above the largest size", [.headers(1, oversized)], .connectionError([.frameSizeError])),
    .init(
      "4.2 SETTINGS above the largest size", [RawFrame(type: 4, payload: Array(repeating: 0, count: 16_386))],
      .connectionError([.frameSizeError])),
    .init(
      "4.2 a length of 2^24 - 1", [RawFrame(type: 0, id: 1, length: 0xFF_FFFF)], .connectionError([.frameSizeError])),
    .init("4.3 a field block that cannot be decoded", [.headers(1, [0x80])], .connectionError([.compressionError])),
    .init(
      "4.3 a field block cut short", [.headers(1, Array(HPACK.get.dropLast(3)))],
      .connectionError([.compressionError])),
    .init(
      "4.3 PRIORITY inside a header block",
      [.headers(1, HPACK.get, flags: RawFrame.endStream), .priority(1, on: 0), .continuation(1, [])],
      .connectionError([.protocolError])),
    .init(
      "4.3 an unknown frame inside a header block",
      [.headers(1, HPACK.get, flags: RawFrame.endStream), RawFrame(type: 0xBB, id: 1), .continuation(1, [])],
      .connectionError([.protocolError])),
    .init(
      "4.3 HEADERS of another stream inside a header block",
      [.headers(1, HPACK.get, flags: RawFrame.endStream), .get(3)], .connectionError([.protocolError])),
    .init(
      "4.3 RST_STREAM inside a header block",
      [.headers(1, HPACK.get, flags: RawFrame.endStream), .reset(1)], .connectionError([.protocolError])),
  ]

  @Test("3.4 an empty SETTINGS frame completes the preface") func preface() {
    let client = RawClient(handshake: false)
    client.send(bytes: RawClient.magic)
    #expect(client.frames.first?.type == 4)
    client.send(.settings())
    #expect(client.frames.contains(.settingsAck))
    #expect(client.isAlive)
  }

  @Test("3.4 a first frame that is not SETTINGS ends the session", arguments: [RawFrame.ping(), .get(1), .settingsAck])
  func firstFrame(_ frame: RawFrame) {
    let client = RawClient(handshake: false)
    client.send(bytes: RawClient.magic + frame.bytes)
    #expect(client.connectionError == .protocolError)
    #expect(client.server.isFinished)
  }
}
