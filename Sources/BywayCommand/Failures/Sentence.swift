extension String {
  /// What a library says, on one line and with an end.
  var asSentence: String {
    let line = split(whereSeparator: \.isNewline).map { $0.drop { $0 == " " } }.joined(separator: " ")
    return ".?!".contains(line.last ?? " ") ? line : line + "."
  }
}
