/// The latest plain text that another program wrote on the line: a boot log, a login prompt, a message of the kernel.
package struct ForeignText: Equatable, Sendable {
  /// The number of bytes that are kept.
  package static let most = 2048
  /// The shortest run that counts as text. Shorter ones are noise.
  private static let least = 4

  package private(set) var bytes: [UInt8] = []
  /// The number of bytes of all such text.
  package private(set) var count: UInt64 = 0

  package init() {}

  /// Whether the run is plain text. A frame hardly ever is, even a damaged one, because its check is binary.
  static func isText(_ run: [UInt8]) -> Bool { run.count >= least && run.allSatisfy(isText) }

  /// Takes text that was not a frame.
  package mutating func add(_ run: [UInt8]) {
    count &+= UInt64(run.count)
    bytes += run.suffix(Self.most)
    if bytes.count > Self.most { bytes.removeFirst(bytes.count - Self.most) }
  }

  /// Returns the text that came after the first `known` bytes, as far as it is kept.
  package func since(_ known: UInt64) -> ArraySlice<UInt8> {
    known <= count ? bytes.suffix(Int(min(count - known, UInt64(Self.most)))) : bytes[...]
  }

  /// Whether the byte is a character of plain text or of a terminal's control sequence.
  package static func isText(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x20..<0x7F, 0x09, 0x0A, 0x0D, 0x1B: true
    default: false
    }
  }
}
