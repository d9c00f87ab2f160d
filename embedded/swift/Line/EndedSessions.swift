/// The reason for the end of a session. The first six are the reasons of RESET (section 2).
enum EndReason: UInt8 {
  case finished
  case unknown
  case aborted
  case silence
  case version
  case bothDial
  /// The listener was restarted.
  case restarted
  /// A new OPEN replaced the session.
  case replaced
  /// The line did not return in time.
  case gone
}

/// The 16 latest ended sessions, so that a late frame does not start one of them again (section 3).
struct EndedSessions {
  private var next: UInt8 = 0
  private var count: UInt8 = 0
  private var reasons: InlineArray<16, UInt8> = .init(repeating: 0)
  private(set) var sessions: InlineArray<16, UInt32> = .init(repeating: 0)

  mutating func removeAll() {
    next = 0
    count = 0
  }

  mutating func add(_ session: UInt32, _ reason: EndReason) {
    sessions[Int(next & 15)] = session
    reasons[Int(next & 15)] = reason.rawValue
    next = (next &+ 1) & 15
    if count < 16 { count &+= 1 }
  }

  /// Returns the reason for the end of a session; `.unknown` if it is not one of the latest.
  mutating func reason(of session: UInt32) -> EndReason {
    var age: UInt8 = 1
    while age <= count {
      let index = Int((next &- age) & 15)
      if sessions[index] == session { return EndReason(rawValue: reasons[index]) ?? .unknown }
      age &+= 1
    }
    return .unknown
  }
}
