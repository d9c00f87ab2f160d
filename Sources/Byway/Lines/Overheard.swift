import LineLayer
import Primitives

/// The bytes that arrived on a line before its first frame, which tell what is at the remote end.
package struct Overheard {
  private static let limit = 256
  private static let quoteLimit = 60

  package private(set) var bytes: [UInt8] = []

  package init() {}

  package mutating func add(_ new: UnsafeRawBufferPointer) {
    bytes += new.suffix(Self.limit)
    if bytes.count > Self.limit { bytes.removeFirst(bytes.count - Self.limit) }
  }

  /// The last line of it, where it is text and not noise: "device login:".
  package var lastWords: String? {
    guard bytes.count >= 4, bytes.count(where: ForeignText.isText) * 10 >= bytes.count * 9 else { return nil }
    let lines = String(decoding: withoutSequences, as: UTF8.self).split { $0.isNewline }.map { line in
      String(line).visible.drop { $0 == " " }.prefix(Self.quoteLimit)
    }
    return lines.last { !$0.isEmpty }.map(String.init)
  }

  /// The bytes without the sequences that set a terminal's colours and modes, which prompts contain (ECMA-48 §5.4).
  private var withoutSequences: [UInt8] {
    var plain: [UInt8] = []
    var rest = bytes[...]
    while let byte = rest.popFirst() {
      guard byte == 0x1B else {
        plain.append(byte)
        continue
      }
      guard rest.first == UInt8(ascii: "[") else { continue }
      rest = rest.dropFirst().drop { !(0x40...0x7E).contains($0) }.dropFirst()
    }
    return plain
  }
}
