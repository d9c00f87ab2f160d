/// Emphasis on a terminal that supports it, plain text elsewhere.
struct TextStyle: Sendable {
  private let isColourful: Bool

  init(for stream: StandardStream) {
    isColourful = stream.isColourful
  }

  init(isColourful: Bool) {
    self.isColourful = isColourful
  }

  func bold(_ text: String) -> String { escaped(text, "1") }
  func faint(_ text: String) -> String { escaped(text, "2") }
  func accent(_ text: String) -> String { escaped(text, "36") }
  func good(_ text: String) -> String { escaped(text, "32") }
  func bad(_ text: String) -> String { escaped(text, "31") }

  /// Returns an HTTP status in the colour of its class.
  func status(_ code: Int) -> String {
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
