import NIOCore
import Primitives

/// The body of an answer as it stands in a ``StubFile``: where it ends is for the rules here to say, because the file goes on.
struct StubBody {
  enum Content {
    /// `< NAME`
    case file(String)
    case bytes(ByteBuffer)
  }

  let content: Content

  /// - Parameters:
  ///   - lines: up to the next rule, without their ends.
  ///   - isLast: the last of them has no end, as nothing comes after it.
  ///   - length: what the head declares.
  ///   - isCopied: a program has written the head, as `curl -i` does; so the body is as it came.
  init(_ lines: ArraySlice<Substring>, isLast: Bool, length: Int?, isCopied: Bool) {
    // The empty lines before the next rule are there for the eye.
    let end = lines.lastIndex { !$0.isBlank }.map { $0 + 1 } ?? lines.startIndex
    let text = lines[..<end]
    let whole = ByteBuffer(string: lines.joined(separator: "\n") + (isLast ? "" : "\n"))
    if let length, let declared = Self.prefix(of: whole, length) {
      // First: what somebody has answered, and may have made to look like the name of a file, is not one.
      content = .bytes(declared)
    } else if text.count == 1, let line = text.first, line.hasPrefix("< ") {
      content = .file(line.dropFirst(2).trimmed)
    } else {
      let hasEnd = end < lines.endIndex || !isLast
      content = .bytes(
        ByteBuffer(string: text.joined(separator: "\n") + (isCopied && hasEnd && !text.isEmpty ? "\n" : "")))
    }
  }

  /// `nil` where it is not followed by white space alone: then the text has been edited since its length was counted.
  private static func prefix(of bytes: ByteBuffer, _ length: Int) -> ByteBuffer? {
    guard let prefix = bytes.getSlice(at: bytes.readerIndex, length: length) else { return nil }
    let isWhole = bytes.readableBytesView.dropFirst(length).allSatisfy { [0x20, 0x09, 0x0D, 0x0A].contains($0) }
    return isWhole ? prefix : nil
  }
}
