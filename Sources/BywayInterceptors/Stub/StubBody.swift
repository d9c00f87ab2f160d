import BywayPrimitives
import NIOCore

/// The body of an answer in a ``StubFile``. Rules determine where it ends, because the file goes on.
struct StubBody {
  enum Content {
    /// A file: `< NAME`.
    case file(String)
    case bytes(ByteBuffer)
  }

  let content: Content

  /// - Parameters:
  ///   - lines: The lines up to the next rule, without their ends.
  ///   - isLast: Whether the last line has no end, as nothing comes after it.
  ///   - length: The length that the head declares.
  ///   - isCopied: Whether a program has written the head, as `curl -i` does, so that the body is unchanged.
  init(_ lines: ArraySlice<Substring>, isLast: Bool, length: Int?, isCopied: Bool) {
    // Empty lines before the next rule are there for readability.
    let end = lines.lastIndex { !$0.isBlank }.map { $0 + 1 } ?? lines.startIndex
    let text = lines[..<end]
    let whole = ByteBuffer(string: lines.joined(separator: "\n") + (isLast ? "" : "\n"))
    if let length, let declared = Self.prefix(of: whole, length) {
      // This comes first: a recorded answer that looks like the name of a file, perhaps on purpose, is not one.
      content = .bytes(declared)
    } else if text.count == 1, let line = text.first, line.hasPrefix("< ") {
      content = .file(line.dropFirst(2).trimmed)
    } else {
      let hasEnd = end < lines.endIndex || !isLast
      content = .bytes(
        ByteBuffer(string: text.joined(separator: "\n") + (isCopied && hasEnd && !text.isEmpty ? "\n" : "")))
    }
  }

  /// Returns the declared part. Returns `nil` if more than white space follows: the text was then edited after its length was
  /// counted.
  private static func prefix(of bytes: ByteBuffer, _ length: Int) -> ByteBuffer? {
    guard let prefix = bytes.getSlice(at: bytes.readerIndex, length: length) else { return nil }
    let isWhole = bytes.readableBytesView.dropFirst(length).allSatisfy { [0x20, 0x09, 0x0D, 0x0A].contains($0) }
    return isWhole ? prefix : nil
  }
}
