extension String {
  /// The text for HTML, in an element or in a quoted attribute, with nothing that is markup.
  package var escapedForHTML: String {
    replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;")
  }
}
