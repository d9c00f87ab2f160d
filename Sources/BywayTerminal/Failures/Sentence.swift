extension String {
  /// The message of a library on one line, with a full stop at its end. The items of a list follow one another.
  package var asSentence: String {
    var line = ""
    for part in split(whereSeparator: \.isNewline) {
      let words = part.drop { $0 == " " }
      if words.hasPrefix("- ") {
        line += line.hasSuffix(":") ? " \(words.dropFirst(2))" : ", \(words.dropFirst(2))"
      } else {
        line += line.isEmpty ? words : " \(words)"
      }
    }
    return ".?!".contains(line.last ?? " ") ? line : line + "."
  }
}
