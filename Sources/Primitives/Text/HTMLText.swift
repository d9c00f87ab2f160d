extension String {
  /// The same text where HTML is expected, in an element or in a quoted attribute: nothing of it is markup.
  package var escapedForHTML: String {
    replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;")
  }
}
