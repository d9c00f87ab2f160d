import ArgumentParser
import BywayTerminal

/// A duration as users write it: `5ms`, `1.5s`, `200us`, `2min`, or a number of seconds.
struct Span: ExpressibleByArgument, Sendable, Hashable {
  let duration: Duration

  init(_ duration: Duration) {
    self.duration = duration
  }

  init?(argument: String) {
    let unit = argument.drop { $0.isASCII && $0.isNumber || $0 == "." }
    guard let number = Double(argument.dropLast(unit.count)), let seconds = Self.units[String(unit)],
      number * seconds <= 1e9
    else { return nil }
    duration = .seconds(number * seconds)
  }

  private static let units = ["us": 1e-6, "ms": 1e-3, "s": 1, "": 1, "min": 60]

  var defaultValueDescription: String { "\(Decimal.text(duration / .seconds(1), digits: 0))s" }
}
