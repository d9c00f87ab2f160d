/// A word as a shell's command line has it (sh(1), "Quoting").
package enum ShellWord {
  /// As it is where it needs no quotes.
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
