import BywayLineLayer

/// A series of questions whose answers name them, with the outcome of each. Answers come in the order of the questions, so a question is
/// lost if a later one is answered. Questions after the last answer are still open.
struct QuestionSeries: Sendable {
  /// The number of open questions. A listener keeps eight answers.
  static let window = 5
  /// The number of further questions, one at a time, after answers stop.
  private static let mostFences = 3

  private(set) var heard = HeardFrames()
  private(set) var lost = 0
  private(set) var answered = 0
  private var firstSession: UInt32 = .random(in: 0 ... .max)
  /// The number of questions sent; ``settledEnd`` counts those up to the last answered one.
  private var said = 0
  private var settledEnd = 0
  private var fences = 0

  var settled: Int { settledEnd }

  /// Returns the bytes of the next questions; `nil` if the peer no longer answers.
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

  /// Whether these bytes answer the last question, so that the next can be sent.
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
    // A delimiter comes first, so that a damaged question before it does not affect this one.
    var bytes: [UInt8] = [0]
    FrameCodec.encode(.poll(session: session, token: 0), seal: nil, scratch: &scratch, into: &bytes)
    return bytes
  }
}
