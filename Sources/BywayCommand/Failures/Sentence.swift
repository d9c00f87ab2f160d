extension String {
  /// What a library says, on one line and with an end.
  var asSentence: String {
    let line = split(whereSeparator: \.isNewline).joined(separator: " ")
    return ".?!".contains(line.last ?? " ") ? line : line + "."
  }
}
