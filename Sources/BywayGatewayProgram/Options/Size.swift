/// A number of bytes as users write it: `4096`, `64K`, `1M`, with units of 1024.
package struct Size: Sendable, Hashable {
  package let bytes: Int

  package init(_ bytes: Int) {
    self.bytes = bytes
  }

  package init?(argument: String) {
    let unit = argument.drop { $0.isASCII && $0.isNumber }
    guard let number = Int(argument.dropLast(unit.count)), let factor = Self.units[unit.uppercased()] else {
      return nil
    }
    let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
    if overflow { return nil }
    self.bytes = bytes
  }

  private static let units = ["": 1, "B": 1, "K": 1 << 10, "KIB": 1 << 10, "M": 1 << 20, "MIB": 1 << 20, "G": 1 << 30]
}
