import Testing

@testable import BywayLineLayer

@Suite("Test vectors of correction")
struct CorrectionVectorTests {
  private static let vectors = Vector.all(in: "corrected.txt")

  @Test("the file of correction vectors has at least 14 entries")
  func count() {
    #expect(Self.vectors.count >= 14)
  }

  @Test("the encoder writes the corrected frame of each vector", arguments: vectors)
  func encoding(_ vector: Vector) throws {
    let seal = try #require(vector.seal)
    let strength = Strength(index: try #require(vector.values["strength"].flatMap { Int($0) }))
    #expect(CorrectionCodec.bytes(of: try #require(vector.frame), strength, seal: seal) == vector.bytes("wire"))
  }

  @Test("the decoder corrects the frame of each vector, or drops it as stated", arguments: vectors)
  func corrects(_ vector: Vector) throws {
    let seal = try #require(vector.seal)
    let (frames, errors) = CorrectionCodec.frames(in: vector.bytes("heard"), seal: seal)
    if let corrected = vector.values["corrected"].flatMap({ Int($0) }) {
      #expect(frames == [try #require(vector.frame)])
      #expect(errors == corrected)
    } else {
      #expect(frames.isEmpty)
    }
  }
}

/// An encoder and a decoder of frames with correction.
enum CorrectionCodec {
  static func bytes(of frame: Frame, _ strength: Strength, seal: SessionID) -> [UInt8] {
    var codec = ReedSolomon()
    var body: [UInt8] = []
    var output: [UInt8] = []
    FrameCodec.write(frame, seal: seal, into: &body)
    CorrectableFrame.encode(
      body, strength, sync: CorrectableFrame.sync(of: seal), codec: &codec, into: &output)
    return output
  }

  static func reader(seal: SessionID) -> LineReader {
    var reader = LineReader(largestBody: 2057, correction: Strength.count)
    reader.sync = CorrectableFrame.sync(of: seal)
    return reader
  }

  /// Returns all frames, and how many bytes were corrected in them.
  static func frames(in bytes: [UInt8], seal: SessionID) -> (frames: [Frame], errors: Int) {
    var reader = reader(seal: seal)
    return frames(in: reader.receive(bytes), seal: seal)
  }

  static func frames(in arrivals: [LineReader.Arrival], seal: SessionID) -> (frames: [Frame], errors: Int) {
    var all = 0
    let frames = arrivals.compactMap { arrival -> Frame? in
      switch arrival {
      case .run(var run, _): return FrameCodec.decode(&run, seal: seal)
      case .corrected(let body, let errors, _, _):
        all += errors
        return FrameCodec.read(body, seal: seal)
      case .tooLong, .uncorrectable: return nil
      }
    }
    return (frames, all)
  }
}

extension LineReader {
  mutating func receive(_ bytes: [UInt8], at now: UInt64 = 1) -> [Arrival] {
    var codec = ReedSolomon()
    return bytes.withUnsafeBytes { bytes in
      var arrivals: [Arrival] = []
      var start = 0
      while start < bytes.count { arrivals += receive(bytes, from: &start, codec: &codec, at: now) }
      return arrivals
    }
  }
}
