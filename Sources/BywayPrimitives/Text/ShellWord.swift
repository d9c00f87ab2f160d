/// A word of a shell's command line (sh(1), "Quoting").
package enum ShellWord {
  /// Returns the word for a text, without quotes if it needs none.
  package static func of(_ text: String) -> String {
    let isPlain =
      !text.isEmpty
      && text.utf8.allSatisfy { byte in
        byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A || byte >= 0x30 && byte <= 0x39 || "%+,-./:=@_".utf8.contains(byte)
      }
    return isPlain ? text : quoted(text)
  }

  package static func quoted(_ text: String) -> String {
    "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#))'"
  }
}
