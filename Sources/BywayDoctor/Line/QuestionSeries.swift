import LineLayer

/// Questions whose answers name them, and what became of each. Answers come in the order of the questions, so that one is lost where a
/// later one was answered; what nobody has answered yet is neither.
struct QuestionSeries: Sendable {
  /// Under way at once. A listener keeps eight answers.
  static let window = 5
  /// Asked one at a time where nothing comes back any more.
  private static let mostFences = 3

  private(set) var heard = HeardFrames()
  private(set) var lost = 0
  private(set) var answered = 0
  private var firstSession: UInt32 = .random(in: 0 ... .max)
  /// Said, and those before the last that was answered.
  private var said = 0
  private var settledEnd = 0
  private var fences = 0

  var settled: Int { settledEnd }

  /// What to say now; `nil` where the far end has fallen silent.
  mutating func next() -> [UInt8]? {
    let underWay = said - settledEnd
    if underWay > 0 {
      fences += 1
      guard fences <= Self.mostFences else { return nil }
    }
    let count = underWay > 0 ? 1 : Self.window
    defer { said += count }
    return (said..<(said + count)).flatMap { bytes(of: session($0)) }
  }

  /// Whether more can be asked after that was heard.
  func isMovedOn(by bytes: [UInt8]) -> Bool {
    var series = self
    series.hear(bytes)
    return series.settledEnd == said
  }

  mutating func hear(_ bytes: [UInt8]) {
    let known = heard.frames.count
    heard.hear(bytes)
    for case .reset(let session, .unknown) in heard.frames[known...] {
      let index = Int(session &- firstSession)
      guard index >= settledEnd, index < said else { continue }
      lost += index - settledEnd
      answered += 1
      settledEnd = index + 1
      fences = 0
    }
  }

  private func session(_ index: Int) -> UInt32 { firstSession &+ UInt32(truncatingIfNeeded: index) }

  private func bytes(of session: UInt32) -> [UInt8] {
    var scratch: [UInt8] = []
    // With a delimiter before it: what was lost of the one before must not spoil it.
    var bytes: [UInt8] = [0]
    FrameCodec.encode(.poll(session: session, token: 0), seal: nil, scratch: &scratch, into: &bytes)
    return bytes
  }
}
