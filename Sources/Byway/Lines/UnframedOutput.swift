import BywayLineLayer
import BywayPrimitives

/// The latest bytes on a line before its first frame, which identify the remote end.
package struct UnframedOutput {
  private static let limit = 256
  private static let quoteLimit = 60

  package private(set) var bytes: [UInt8] = []

  package init() {}

  package mutating func add(_ new: UnsafeRawBufferPointer) {
    bytes += new.suffix(Self.limit)
    if bytes.count > Self.limit { bytes.removeFirst(bytes.count - Self.limit) }
  }

  /// The last line of text, unless the bytes are noise: "device login:".
  package var lastWords: String? {
    guard bytes.count >= 4, bytes.count(where: ForeignText.isText) * 10 >= bytes.count * 9 else { return nil }
    let lines = String(decoding: withoutSequences, as: UTF8.self).split { $0.isNewline }.map { line in
      String(line).visible.drop { $0 == " " }.prefix(Self.quoteLimit)
    }
    return lines.last { !$0.isEmpty }.map(String.init)
  }

  /// The bytes without terminal sequences for colours and modes, which prompts contain (ECMA-48 §5.4).
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
