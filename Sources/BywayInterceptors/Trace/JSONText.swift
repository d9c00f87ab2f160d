import Primitives

/// JSON as it stands in a record: perhaps cut off, perhaps no JSON at all.
enum JSONText {
  /// Puts ``Trace/Redaction/mark`` in the place of every value, whatever it is, whose name is a secret's.
  static func replacing(in bytes: [UInt8], where isSecret: (String) -> Bool) -> [UInt8] {
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      guard bytes[index] == UInt8(ascii: "\"") else {
        result.append(bytes[index])
        index += 1
        continue
      }
      let end = endOfString(bytes, from: index)
      let text = name(bytes[(index + 1)..<max(index + 1, end - 1)])
      result += bytes[index..<end]
      index = end
      // A string is a name where a colon follows.
      let value = bytes[index...].firstIndex { !" \t\r\n:".utf8.contains($0) } ?? bytes.count
      guard bytes[index..<value].contains(UInt8(ascii: ":")), isSecret(text), value < bytes.count else { continue }
      result += bytes[index..<value]
      result += "\"\(Trace.Redaction.mark)\"".utf8
      index = endOfValue(bytes, from: value)
    }
    return result
  }

  /// An escape may hide it (RFC 8259 §7).
  private static func name(_ bytes: ArraySlice<UInt8>) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    return bytes.contains(UInt8(ascii: "\\")) ? JSON(parsing: "\"\(text)\"")?.text ?? text : text
  }

  private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
    var index = start + 1
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "\"") { return index + 1 }
      index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
    }
    return bytes.count
  }

  /// Of a string, a number, or everything in an object or array.
  private static func endOfValue(_ bytes: [UInt8], from start: Int) -> Int {
    var depth = 0
    var index = start
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        index = endOfString(bytes, from: index)
        if depth == 0 { return index }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth <= 1 { return depth == 0 ? index : index + 1 }
        depth -= 1
      case UInt8(ascii: ",") where depth == 0:
        return index
      default: break
      }
      index += 1
    }
    return bytes.count
  }
}
