import BywayLineDevices
import BywayLineEmulation

/// A summary of the bytes on a line, as text.
struct LineReport {
  let text: String

  init(_ line: PseudoTerminalLine) {
    let lines = VirtualLink.End.allCases.map { end in
      Self.sentence(line.counters(from: end), from: line.path(of: end), to: line.path(of: end.other))
    }
    text = lines.map { $0 + "\n" }.joined()
  }

  static func sentence(_ counters: LineCounters, from: String, to: String) -> String {
    let changes = [
      (counters.flippedBits, "bits wrong"), (counters.dropped, "bytes lost"), (counters.duplicated, "doubled"),
      (counters.inserted, "inserted"), (counters.foreign, "of a log"), (counters.framingErrors, "without a stop bit"),
    ]
    let told = changes.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    let bytes = "\(counters.sent) bytes sent, \(counters.delivered) delivered"
    return "\(from) → \(to): " + ([bytes] + (told.isEmpty ? ["none damaged"] : told)).joined(separator: ", ")
  }

  static func sentence(_ event: PseudoTerminalLine.Event) -> String {
    switch event {
    case .hungUp(let end): "end \(end) has hung up"
    case .opened(let end, let path): "end \(end) is back on \(path)"
    case .failed(let end, let failure): "end \(end) cannot come back yet: \(failure)"
    }
  }
}
