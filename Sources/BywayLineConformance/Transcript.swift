/// The latest frames in both directions, for the report of a failed check.
struct Transcript: Sendable {
  private static let limit = 40

  private(set) var lines: [String] = []
  private var start: UInt64

  init(since start: UInt64) {
    self.start = start
  }

  mutating func begin(at now: UInt64) {
    lines = []
    start = now
  }

  mutating func sent(_ text: String, at now: UInt64) { add("in  \(text)", now) }
  mutating func received(_ text: String, at now: UInt64) { add("out \(text)", now) }

  private mutating func add(_ text: String, _ now: UInt64) {
    if lines.count == Self.limit { lines.removeFirst() }
    lines.append("at \((now - min(start, now)) / 1_000_000) \(text)")
  }
}
