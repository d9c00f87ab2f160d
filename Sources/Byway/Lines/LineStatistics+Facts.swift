package import LineLayer

extension LineStatistics {
  /// What people want to know of a line, one fact in each string.
  package var facts: [String] {
    var facts: [String] = []
    if let roundTrip {
      facts.append("round trip \(Self.milliseconds(roundTrip)) ms, without the time for the bytes themselves")
    }
    if let rate, let nominalRate { facts.append("carries \(rate) bytes/s, nominal \(nominalRate)") }
    facts.append(
      "\(sentFrames) frames sent, \(repeatedFrames) of them again; \(receivedFrames) received, \(damagedFrames) damaged"
    )
    facts.append(errors)
    return facts
  }

  /// The same as lines of a report, which ``reportMark`` tells from others.
  package var report: [String] { facts.map { Self.reportMark + $0 } }

  package static let reportMark = "line: "

  /// Both ways: what arrived damaged here, and what had to be sent again because it did not arrive there.
  private var errors: String {
    let bytes = sentBytes + receivedBytes
    let count = damagedFrames + repeatedFrames
    guard count > 0, bytes > 0 else { return "no errors in \(bytes) bytes" }
    return "\(count * 1_000_000 / bytes) errors in a million bytes, \(count) in \(bytes)"
  }

  private static func milliseconds(_ nanoseconds: UInt64) -> String {
    let tenths = (nanoseconds + 50_000) / 100_000
    return "\(tenths / 10).\(tenths % 10)"
  }
}
