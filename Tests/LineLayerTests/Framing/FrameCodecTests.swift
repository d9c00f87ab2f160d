import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("Frame codec")
struct FrameCodecTests {
  private static let seal = SessionID(session: 0x1122_3344, incarnation: 0x5566_7788)

  static let frames: [Frame] = [
    .hello(version: 1, incarnation: 7, largestPayload: 2048),
    .open(version: 1, session: seal, largestPayload: 2048, window: 8192),
    .reset(session: 9, reason: .silence),
    .poll(session: 9, token: 1),
    .acknowledgement(Acknowledgement(answer: nil, arrivals: Arrivals(next: 3), window: 4)),
    .acknowledgement(
      Acknowledgement(
        answer: .init(token: 1, delay: 2), arrivals: Arrivals(next: 3, runs: [5, 127, 128, 1]), window: 4)),
    .noise(Noise(code: 77)),
    .data(DataHeader(number: 1, next: nil, isLast: false), payload: [1, 2, 3]),
    .data(DataHeader(number: 1, next: 65_535, isLast: true), payload: []),
  ]

  @Test("the codec decodes each frame that it encodes", arguments: frames)
  func roundTrip(_ frame: Frame) {
    #expect(Wire.frames(in: Wire.bytes(of: frame, seal: Self.seal), seal: Self.seal) == [frame])
  }

  @Test("the codec rejects a frame with any single wrong bit", arguments: frames)
  func singleBits(_ frame: Frame) {
    let wire = Wire.bytes(of: frame, seal: Self.seal)
    for bit in 0..<(wire.count * 8) {
      var damaged = wire
      damaged[bit / 8] ^= 1 << (bit % 8)
      #expect(Wire.frames(in: damaged, seal: Self.seal).isEmpty)
    }
  }

  @Test("the codec rejects a sealed frame of another session or incarnation", arguments: frames[4...])
  func seals(_ frame: Frame) {
    let wire = Wire.bytes(of: frame, seal: Self.seal)
    #expect(Wire.frames(in: wire, seal: nil).isEmpty)
    #expect(Wire.frames(in: wire, seal: SessionID(session: 0x1122_3344, incarnation: 0x5566_7789)).isEmpty)
    #expect(Wire.frames(in: wire, seal: SessionID(session: 0x1122_3345, incarnation: 0x5566_7788)).isEmpty)
  }

  @Test("the codec ignores bytes that a later version has added to a plain frame")
  func longerFrames() {
    let hello: [UInt8] = [0x01, 1, 0, 0, 0, 7, 8, 0, 0]
    #expect(Wire.frames(in: Wire.bytes(ofBody: hello + [0, 0, 9, 9])) == [Self.frames[0]])
    #expect(Wire.frames(in: Wire.bytes(ofBody: [0x04, 0, 0, 0, 9, 1, 9, 9])) == [Self.frames[3]])
  }

  @Test("the codec drops frames that are too short, of unknown kind, or have an invalid list of runs")
  func shapes() {
    let complete: [(UInt8, Int)] = [
      (0x01, 7), (0x02, 13), (0x03, 5), (0x04, 5), (0x40, 4), (0x41, 6), (0x42, 1), (0x80, 2), (0x81, 4),
      (0x82, 2), (0x83, 4),
    ]
    for (kind, length) in complete {
      for count in 0..<length {
        let body = [kind] + [UInt8](repeating: 1, count: count)
        #expect(Wire.frames(in: Wire.bytes(ofBody: body, seal: Self.seal), seal: Self.seal).isEmpty)
      }
    }
    let known = Set(complete.map(\.0))
    for kind in UInt8.min ... .max where !known.contains(kind) {
      let body = [kind] + [UInt8](repeating: 1, count: 20)
      #expect(Wire.frames(in: Wire.bytes(ofBody: body, seal: Self.seal), seal: Self.seal).isEmpty)
    }
    let lists: [[UInt8]] = [[UInt8](repeating: 1, count: 33), [0], [1, 0x80, 0], [1, 0x81]]
    for list in lists {
      let wire = Wire.bytes(ofBody: [0x40, 0, 0, 0, 0] + list, seal: Self.seal)
      #expect(Wire.frames(in: wire, seal: Self.seal).isEmpty)
    }
  }

  @Test("the codec reads an unknown RESET reason as aborted")
  func unknownReason() {
    #expect(
      Wire.frames(in: Wire.bytes(ofBody: [0x03, 0, 0, 0, 9, 77])) == [.reset(session: 9, reason: .aborted)])
  }
}
