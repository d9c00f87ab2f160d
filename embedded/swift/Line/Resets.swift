/// The RESETs to send. If there are too many, the first ones are kept (section 10).
struct Resets {
  private var count: UInt8 = 0
  private var reasons: InlineArray<2, UInt8> = .init(repeating: 0)
  private var sessions: InlineArray<2, UInt32> = .init(repeating: 0)

  /// Adds a RESET. Returns whether there was room.
  mutating func add(_ session: UInt32, _ reason: EndReason) -> Bool {
    guard count < 2 else { return false }
    sessions[Int(count)] = session
    reasons[Int(count)] = reason.rawValue
    count &+= 1
    return true
  }

  var isEmpty: Bool { count == 0 }

  /// Removes the first RESET, and returns it.
  mutating func take() -> (session: UInt32, reason: UInt8) {
    defer {
      sessions[0] = sessions[1]
      reasons[0] = reasons[1]
      count &-= 1
    }
    return (sessions[0], reasons[0])
  }
}
