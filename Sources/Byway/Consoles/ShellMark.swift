import BywayPrimitives

/// A text that only a running shell prints: its halves are apart where it is typed, so that an echo of the command is no mark.
///
/// The seed is random, so that another writer to the console cannot forge a mark.
struct ShellMark {
  /// A mark that ends in an exit status, with what was printed before.
  struct Ending {
    let status: Int
    let output: ArraySlice<UInt8>
  }

  /// The digits of a status, and the dash behind them.
  private static let longestStatus = 8

  private let text: String
  let printed: [UInt8]

  init(_ name: String, seed: UInt32) {
    text = "\(name)-\(Hex.text(seed))-"
    printed = Array("BYWAY-\(text)".utf8)
  }

  /// The command that prints the mark and, with `$?` or another variable, a status.
  func command(status: String? = nil) -> String {
    #"echo "BY""WAY-\#(text)\#(status.map { "\($0)-" } ?? "")""#
  }

  /// Returns where the first mark is.
  /// - Parameter new: the number of bytes that were searched before.
  func range(in bytes: [UInt8], from new: Int = 0) -> Range<Int>? {
    var rest = bytes[min(max(0, new - printed.count - Self.longestStatus), bytes.count)...]
    while let start = rest.firstIndex(of: printed[0]) {
      rest = rest[start...]
      if rest.starts(with: printed) { return start..<(start + printed.count) }
      rest = rest.dropFirst()
    }
    return nil
  }

  /// Returns the ending once its status has arrived as a whole.
  func ending(in bytes: [UInt8], from new: Int) -> Ending? {
    guard let mark = range(in: bytes, from: new) else { return nil }
    let digits = bytes[mark.upperBound...].prefix { (0x30...0x39).contains($0) }
    guard digits.endIndex < bytes.count, let status = Int(String(decoding: digits, as: UTF8.self)) else { return nil }
    return Ending(status: status, output: bytes[..<mark.lowerBound])
  }
}

/// A search for a mark in a stream, which keeps no more than the mark is long.
struct ShellMarkSearch {
  private let mark: ShellMark
  private var tail: [UInt8] = []

  init(_ mark: ShellMark) {
    self.mark = mark
  }

  /// Returns whether the mark ends in these bytes.
  mutating func isEnded(by bytes: some Collection<UInt8>) -> Bool {
    tail += bytes
    defer { tail = Array(tail.suffix(mark.printed.count - 1)) }
    return mark.range(in: tail) != nil
  }
}
