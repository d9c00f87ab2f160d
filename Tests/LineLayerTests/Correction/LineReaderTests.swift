import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("Frame reader of a noisy line")
struct LineReaderTests {
  private static let id = SessionID(session: 0x1122_3344, incarnation: 0x5566_7788)
  private static func data(_ number: UInt16, _ count: Int) -> Frame {
    .data(
      DataHeader(number: number, next: nil, isLast: false),
      payload: (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + Int(number)) }[...])
  }

  private static func corrected(_ frame: Frame, _ index: Int = 3) -> [UInt8] {
    [0] + CorrectionCodec.bytes(of: frame, Strength(index: index), seal: id)
  }

  private static func plain(_ frame: Frame) -> [UInt8] { [0] + Wire.bytes(of: frame, seal: id) }

  private func read(_ bytes: [UInt8]) -> [Frame] { CorrectionCodec.frames(in: bytes, seal: Self.id).frames }

  @Test("the reader finds the same frames, corrected and plain, however the bytes are split")
  func cuts() {
    let frames = [Self.data(0, 100), Self.data(7, 300), Self.data(26, 16), Self.data(27, 40)]
    let bytes =
      Self.corrected(frames[0]) + Self.corrected(frames[1], 0) + Self.plain(frames[2]) + Self.corrected(frames[3])
    for size in [1, 2, 3, 5, 8, 9, 10, 100, bytes.count] {
      var reader = CorrectionCodec.reader(seal: Self.id)
      var arrivals: [LineReader.Arrival] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        arrivals += reader.receive(Array(bytes[start..<min(start + size, bytes.count)]))
      }
      #expect(CorrectionCodec.frames(in: arrivals, seal: Self.id).frames == frames, "\(size)")
    }
  }

  @Test("the reader ignores corrected frames of unknown sessions and of unannounced strengths")
  func unasked() {
    var reader = LineReader(largestBody: 2057, correction: 3)
    let bytes = Self.corrected(Self.data(0, 100), 3) + [0]
    #expect(CorrectionCodec.frames(in: reader.receive(bytes), seal: Self.id).frames.isEmpty)
    reader.sync = CorrectableFrame.sync(of: Self.id)
    #expect(CorrectionCodec.frames(in: reader.receive(bytes), seal: Self.id).frames.isEmpty)
    let weaker = Self.corrected(Self.data(0, 100), 2)
    #expect(CorrectionCodec.frames(in: reader.receive(weaker), seal: Self.id).frames.count == 1)
  }

  @Test(
    "if a corrected frame has lost one byte, the reader still finds all frames after it",
    arguments: [0, 1, 2, 4, 8, 12, 60, 120, 136])
  func dropped(_ index: Int) {
    var bytes = Self.corrected(Self.data(0, 112))
    #expect(bytes.count == 137)
    bytes.remove(at: index)
    let next = Self.data(7, 112)
    let frames = read(bytes + Self.corrected(next) + Self.corrected(Self.data(14, 20)))
    // The zero before a frame is not part of it. If the last byte is lost, the next zero takes its place as one wrong byte.
    #expect(frames.suffix(2) == [next, Self.data(14, 20)])
    #expect(frames.count == (index == 0 || index == 136 ? 3 : 2))
  }

  @Test("if a corrected frame has lost several bytes, the reader finds the next frame", arguments: [1, 2, 5, 9, 16])
  func droppedSeveral(_ count: Int) {
    var bytes = Self.corrected(Self.data(0, 400))
    bytes.removeSubrange(100..<(100 + count))
    let frames = [Self.data(7, 400), Self.data(14, 20)]
    // The reader looks for another header after it, and for a frame without correction.
    #expect(read(bytes + Self.corrected(frames[0]) + Self.corrected(frames[1])) == frames)
    #expect(read(bytes + Self.plain(frames[0]) + Self.plain(frames[1])).last == frames[1])
  }

  @Test("if the line falls silent within a frame, the reader finds the frames before and after the silence")
  func brokenOffBefore() {
    let (held, next) = (Self.data(2, 30), Self.data(3, 40))
    let header = Array(Self.corrected(Self.data(0, 1500))[..<10])
    for later in [Self.plain(next), Self.corrected(next)] {
      var reader = CorrectionCodec.reader(seal: Self.id)
      // A false header, and a frame within its supposed length.
      let first = reader.receive(header + Self.plain(held), at: 1_000_000)
      #expect(CorrectionCodec.frames(in: first, seal: Self.id).frames.isEmpty && reader.heldBytes > 0)
      let all = reader.receive(later, at: 300_000_000)
      #expect(CorrectionCodec.frames(in: all, seal: Self.id).frames == [held, next])
      #expect(reader.heldBytes == 0)
    }
  }

  @Test("if noise looks like a header, the reader finds the frames within its supposed length")
  func falseHeader() {
    // An intact header without its body.
    let header = Array(Self.corrected(Self.data(0, 1500))[..<10])
    let frames = [Self.data(3, 50), Self.data(7, 400), Self.data(32, 600), Self.data(70, 800)]
    let bytes = header + frames.flatMap { Self.plain($0) }
    let found = read(bytes)
    #expect(found == frames)
  }

  @Test("after 200 ms of silence, the reader gives up a partial frame and reads its bytes again")
  func brokenOff() {
    var reader = CorrectionCodec.reader(seal: Self.id)
    let long = Self.corrected(Self.data(0, 1500))
    _ = reader.receive(Array(long[..<700]), at: 1_000_000)
    let hello = Frame.hello(version: 1, incarnation: 9, largestPayload: 64)
    let early = reader.receive(Self.plain(hello), at: 100_000_000)
    #expect(CorrectionCodec.frames(in: early, seal: Self.id).frames.isEmpty)
    let late = reader.receive(Self.plain(Self.data(1, 10)), at: 400_000_000)
    #expect(CorrectionCodec.frames(in: late, seal: Self.id).frames == [hello, Self.data(1, 10)])
  }

  @Test("if a frame cannot be corrected, the reader reports it once and does not count its parts as damage")
  func leftovers() {
    var random = SplitMix64(seed: 3)
    var bytes = Self.corrected(Self.data(0, 1200))
    for index in bytes.indices.dropFirst(10) { bytes[index] = UInt8.random(in: 0...15, using: &random) }
    var reader = CorrectionCodec.reader(seal: Self.id)
    var damaged = 0
    var beyond = 0
    for arrival in reader.receive(bytes + Self.plain(Self.data(1, 10))) {
      switch arrival {
      case .run(let run, let isLeftover): if !isLeftover, run.count != 18 { damaged += 1 }
      case .uncorrectable: beyond += 1
      case .tooLong, .corrected: break
      }
    }
    // The end of the damaged frame may merge with the next one.
    #expect(damaged <= 2 && beyond == 1, "\(damaged)")
  }

  @Test("the reader never buffers more than the longest frame")
  func bounded() {
    var random = SplitMix64(seed: 4)
    var reader = LineReader(largestBody: 140, correction: Strength.count)
    reader.sync = CorrectableFrame.sync(of: Self.id)
    for round in 0..<3000 {
      var bytes = Self.corrected(Self.data(0, Int.random(in: 0...130, using: &random)), round % Strength.count)
      for _ in 0..<Int.random(in: 0...12, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
      }
      _ = reader.receive(Array(bytes.prefix(Int.random(in: 1...400, using: &random))))
      #expect(reader.heldBytes <= reader.mostHeldBytes)
    }
  }
}
