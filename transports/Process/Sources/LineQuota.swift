import NIOCore

/// A limit for the lines of a program in the log: so many in each interval. The others are counted. A pure value: time is an argument.
struct LineQuota {
  static let lines = 200
  static let interval = TimeAmount.seconds(10)

  private var end = NIODeadline.uptimeNanoseconds(0)
  private var admitted = 0
  private var leftOut = 0

  /// Whether a line may be logged.
  mutating func admit(at now: NIODeadline) -> Bool {
    if now >= end {
      end = now + Self.interval
      admitted = 0
    }
    guard admitted < Self.lines else {
      leftOut += 1
      return false
    }
    admitted += 1
    return true
  }

  /// When the number of lines that were left out is due; `nil` if there are none.
  var reportTime: NIODeadline? { leftOut > 0 ? end : nil }

  /// Returns the number of lines that were left out since the last call.
  mutating func takeLeftOut() -> Int {
    defer { leftOut = 0 }
    return leftOut
  }
}
