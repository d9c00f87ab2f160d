import BywayPrimitives
import BywayTerminal
import NIOCore

/// The content of a progress line of one body, as a function of bytes and time.
///
/// Short transfers show nothing: the line appears after a second or a mebibyte.
struct ProgressMeter: Sendable {
  private static let appearsAfter = TimeAmount.seconds(1)
  private static let appearsAt = 1 << 20
  private static let interval = TimeAmount.milliseconds(100)

  private let total: Int?
  private let start: NIODeadline
  private let width: Int
  /// Bytes from an earlier transfer, which do not count for the rate.
  private let before: Int
  private(set) var bytes: Int
  private var shownAt: NIODeadline?

  /// - Parameters:
  ///   - total: The total number of bytes, if known.
  ///   - before: The number of bytes from an earlier transfer.
  ///   - width: The number of columns of the terminal.
  init(total: Int?, from before: Int = 0, width: Int, at start: NIODeadline) {
    self.total = total
    self.before = before
    self.width = width
    self.start = start
    bytes = before
  }

  /// Whether a line has been shown, which must be cleared before other output.
  var isShown: Bool { shownAt != nil }

  /// - Returns: The line to show now; `nil` if it is too soon.
  mutating func add(_ count: Int, at now: NIODeadline) -> String? {
    bytes += count
    if let shownAt {
      guard now - shownAt >= Self.interval else { return nil }
    } else {
      guard now - start >= Self.appearsAfter || bytes - before >= Self.appearsAt else { return nil }
    }
    shownAt = now
    return line(at: now)
  }

  /// Returns the line. One column stays free, so that no terminal wraps it.
  func line(at now: NIODeadline) -> String {
    let elapsed = max(Double((now - start).nanoseconds) / 1e9, 0.001)
    let rate = Double(bytes - before) / elapsed
    var tail = "\(ByteCount.text(Int(rate)))/s"
    guard let total, total > 0 else {
      return String("\(ByteCount.text(bytes))  \(tail)  \(Self.clock(elapsed))".prefix(width - 1))
    }
    if bytes < total, rate > 0 { tail += "  \(Self.clock(Double(total - bytes) / rate)) left" }
    let share = min(1, Double(bytes) / Double(total))
    let percent = "\(Int(share * 100))%".padded(4, alignRight: true)
    let counts = "\(ByteCount.text(bytes)) of \(ByteCount.text(total))  \(tail)"
    let room = min(40, width - 1 - percent.count - counts.count - 5)
    guard room >= 10 else { return String("\(percent)  \(counts)".prefix(width - 1)) }
    let filled = Int(share * Double(room))
    let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: room - filled)
    return "\(percent) [\(bar)]  \(counts)"
  }

  private static func clock(_ seconds: Double) -> String {
    let whole = Int(min(seconds.rounded(), 359_999))
    let parts = whole < 3600 ? [whole / 60, whole % 60] : [whole / 3600, whole / 60 % 60, whole % 60]
    return parts.map { String($0, digits: 2) }.joined(separator: ":")
  }
}
