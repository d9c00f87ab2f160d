/// Emphasis on a terminal that supports it, plain text elsewhere.
package struct TextStyle: Sendable {
  private let isColourful: Bool

  package init(for stream: StandardStream) {
    isColourful = stream.isColourful
  }

  package init(isColourful: Bool) {
    self.isColourful = isColourful
  }

  package func bold(_ text: String) -> String { escaped(text, "1") }
  package func faint(_ text: String) -> String { escaped(text, "2") }
  package func accent(_ text: String) -> String { escaped(text, "36") }
  package func good(_ text: String) -> String { escaped(text, "32") }
  package func bad(_ text: String) -> String { escaped(text, "31") }

  /// Returns an HTTP status in the colour of its class.
  package func status(_ code: Int) -> String {
    switch code {
    case 500...: bad("\(code)")
    case 400...: escaped("\(code)", "33")
    default: good("\(code)")
    }
  }

  private func escaped(_ text: String, _ code: String) -> String {
    isColourful ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
