import BywayPrimitives

/// A number of bytes as text: `512 B`, `1.4 KiB`, `12.0 MiB`.
package enum ByteCount {
  private static let units = ["B", "KiB", "MiB", "GiB", "TiB"]

  package static func text(_ bytes: Int) -> String {
    var value = Double(bytes)
    var unit = 0
    // A value that would be rounded to 1024.0 gets the next unit.
    while value >= 1023.95, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    return unit == 0 ? "\(bytes) B" : "\(Decimal.text(value, digits: 1)) \(units[unit])"
  }
}

/// Numbers with a fixed number of decimals, without Foundation.
package enum Decimal {
  package static func text(_ value: Double, digits: Int) -> String {
    var scale = 1
    for _ in 0..<digits { scale *= 10 }
    let scaled = Int((value.magnitude * Double(scale)).rounded())
    let sign = value < 0 && scaled > 0 ? "-" : ""
    guard digits > 0 else { return "\(sign)\(scaled)" }
    return "\(sign)\(scaled / scale).\(String(scaled % scale, digits: digits))"
  }
}

extension String {
  /// Returns the text with spaces up to a width, on the right or the left.
  package func padded(_ width: Int, alignRight: Bool = false) -> String {
    let fill = String(repeating: " ", count: Swift.max(0, width - count))
    return alignRight ? fill + self : self + fill
  }
}
