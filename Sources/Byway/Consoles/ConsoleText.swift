import BywayPrimitives

/// The latest output of a console since this end has sent something, and what its last line asks for.
struct ConsoleText {
  /// The question at the end of a console's output.
  enum Prompt: Equatable {
    /// No text.
    case none
    case login
    /// Another question that ends in a colon. After a name it asks for the password, in any language.
    case secret
    case shell
    /// Other text, such as the end of a message of the day.
    case other
  }

  static let limit = 4096
  private static let longestPrompt = 200

  private(set) var bytes: [UInt8] = []

  /// Adds output, and drops the oldest beyond the limit.
  mutating func add(_ new: some Collection<UInt8>) {
    bytes += new
    if bytes.count > Self.limit { bytes.removeFirst(bytes.count - Self.limit) }
  }

  mutating func clear() { bytes.removeAll(keepingCapacity: true) }

  /// The text after the last line break, without sequences that control a terminal and without spaces at its ends.
  var lastLine: String {
    let start = bytes.lastIndex { $0 == 0x0A || $0 == 0x0D }.map { $0 + 1 } ?? 0
    let plain = Self.plain(bytes[start...]).drop { $0 == 0x20 }
    let end = plain.lastIndex { $0 != 0x20 }.map { $0 + 1 } ?? plain.startIndex
    return String(decoding: plain[plain.startIndex..<end], as: UTF8.self)
  }

  var prompt: Prompt {
    let line = lastLine
    guard !bytes.isEmpty else { return .none }
    guard !line.isEmpty, line.utf8.count <= Self.longestPrompt else { return .other }
    let words = line.lowercased()
    if ["login:", "login name:", "username:", "user name:"].contains(where: words.hasSuffix) { return .login }
    if words.hasSuffix(":") || words.hasSuffix("：") { return .secret }
    return "$#>%".contains(line.last ?? " ") ? .shell : .other
  }

  /// Whether there is no text but the prompt of a shell, and no echo before it.
  var hasNoAnswer: Bool {
    guard let words = words() else { return true }
    return prompt == .shell && words.trimmed == lastLine.visible
  }

  /// The last lines of text for a message; `nil` if there is no text.
  func words(after start: Int = 0, limit: Int = 160) -> String? {
    let text = String(decoding: Self.plain(bytes.dropFirst(start)), as: UTF8.self)
    let lines = text.split { $0.isNewline }.map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
    guard !lines.isEmpty else { return nil }
    return String(lines.suffix(2).joined(separator: " / ").visible.suffix(limit))
  }

  /// Returns the bytes without control characters, and without the sequences for colours and titles (ECMA-48 §5.4, §8.3.89).
  private static func plain(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var plain: [UInt8] = []
    var rest = bytes
    while let byte = rest.popFirst() {
      if byte == 0x1B {
        switch rest.popFirst() {
        case 0x5B: rest = rest.drop { !(0x40...0x7E).contains($0) }.dropFirst()
        case 0x5D: rest = rest.drop { $0 != 0x07 && $0 != 0x1B }.dropFirst()
        default: break
        }
      } else if byte >= 0x20 && byte != 0x7F || byte == 0x0A || byte == 0x0D {
        plain.append(byte)
      }
    }
    return plain
  }
}
