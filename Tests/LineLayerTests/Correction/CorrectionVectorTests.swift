import Testing

@testable import BywayLineLayer

@Suite("Vectors of correction")
struct CorrectionVectorTests {
  private static let vectors = Vector.all(in: "corrected.txt")

  @Test("are all there")
  func count() {
    #expect(Self.vectors.count >= 14)
  }

  @Test("a frame gets correction as its vector says", arguments: vectors)
  func encoding(_ vector: Vector) throws {
    let seal = try #require(vector.seal)
    let strength = Strength(index: try #require(vector.values["strength"].flatMap { Int($0) }))
    #expect(Mendable.bytes(of: try #require(vector.frame), strength, seal: seal) == vector.bytes("wire"))
  }

  @Test("and is corrected as it says", arguments: vectors)
  func mending(_ vector: Vector) throws {
    let seal = try #require(vector.seal)
    let (frames, errors) = Mendable.frames(in: vector.bytes("heard"), seal: seal)
    if let corrected = vector.values["corrected"].flatMap({ Int($0) }) {
      #expect(frames == [try #require(vector.frame)])
      #expect(errors == corrected)
    } else {
      #expect(frames.isEmpty)
    }
  }
}

/// Frames that bear correction to bytes and back.
enum Mendable {
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

  /// All frames, and how many bytes were put right in them.
  static func frames(in bytes: [UInt8], seal: SessionID) -> (frames: [Frame], errors: Int) {
    var reader = reader(seal: seal)
    return frames(in: reader.receive(bytes), seal: seal)
  }

  static func frames(in arrivals: [LineReader.Arrival], seal: SessionID) -> (frames: [Frame], errors: Int) {
    var all = 0
    let frames = arrivals.compactMap { arrival -> Frame? in
      switch arrival {
      case .run(var run, _): return FrameCodec.decode(&run, seal: seal)
      case .mended(let body, let errors, _, _):
        all += errors
        return FrameCodec.read(body, seal: seal)
      case .tooLong, .beyondMending: return nil
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
