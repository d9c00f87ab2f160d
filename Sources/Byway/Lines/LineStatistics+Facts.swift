package import BywayLineLayer

extension LineStatistics {
  /// The facts about a line for users, one in each string.
  package var facts: [String] {
    var facts: [String] = []
    if let roundTrip {
      facts.append("round trip \(Self.milliseconds(roundTrip)) ms, without the time for the bytes themselves")
    }
    if let rate, let nominalRate { facts.append("carries \(rate) bytes/s, nominal \(nominalRate)") }
    facts.append(
      "\(sentFrames) frames sent, \(repeatedFrames) of them again; \(receivedFrames) received, \(damagedFrames) damaged"
    )
    if correctedBytes > 0 || correctableErrors > 0 {
      let now = correctableErrors > 0 ? "up to \(correctableErrors) wrong bytes in 255" : "none"
      facts.append("\(correctedBytes) wrong bytes put right; sent frames carry correction of \(now)")
    }
    if let errors { facts.append("\(errors)") }
    return facts
  }

  /// The same as lines of a report, each with ``reportMark`` in front.
  package var report: [String] { facts.map { Self.reportMark + $0 } }

  package static let reportMark = "line: "

  private static func milliseconds(_ nanoseconds: UInt64) -> String {
    let tenths = (nanoseconds + 50_000) / 100_000
    return "\(tenths / 10).\(tenths % 10)"
  }
}
