import Byway
import BywayPrimitives

/// A line of a settings file that is neither empty nor a comment.
struct SettingLine {
  let number: Int
  /// The text without leading and trailing blanks.
  let text: String

  /// Splits a file into lines.
  /// - Throws: if a line has a character, other than LF or CR LF, that some readers of the file take for the end of a line.
  static func all(in text: String, of file: String) throws(BywayError) -> [SettingLine] {
    var lines: [SettingLine] = []
    for (index, bytes) in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
    {
      let bytes = bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes
      let line = SettingLine(number: index + 1, text: String(Substring(bytes)).trimmed)
      if line.text.unicodeScalars.contains(where: Self.endsLines) {
        throw line.flaw(in: file, "it has a character that other programs take for the end of a line: remove it")
      }
      if !line.text.isEmpty, !line.text.hasPrefix("#") { lines.append(line) }
    }
    return lines
  }

  private static func endsLines(_ scalar: Unicode.Scalar) -> Bool {
    [0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029].contains(scalar.value)
  }

  /// - Parameter words: without the full stop.
  func flaw(in file: String, _ words: String) -> BywayError {
    BywayError(.unreadableFile, "\(file), line \(number): \(words).", processing: .none)
  }
}
