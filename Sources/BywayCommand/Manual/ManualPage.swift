import Byway

/// A page of the manual, in the man(7) language.
struct ManualPage {
  /// `byway-request`
  let name: String
  let section: Int
  let text: String

  var fileName: String { "\(name).\(section)" }

  init(_ name: String, section: Int, abstract: String, _ paragraphs: [Paragraph]) {
    self.name = name
    self.section = section
    let head = [
      ".TH \(Roff.escaped(name.uppercased())) \(section) \"\" \"Byway \(Release.version)\" \"Byway\"",
      ".SH NAME", "\(Roff.escaped(name)) \\- \(Roff.line(abstract))",
    ]
    text = (head + paragraphs.flatMap(\.lines)).joined(separator: "\n") + "\n"
  }

  enum Paragraph {
    case heading(String)
    case subheading(String)
    case text(String)
    /// Text as it is, in a fixed width.
    case example(String)
    /// A term and its meaning.
    case item(String, String)

    fileprivate var lines: [String] {
      switch self {
      case .heading(let text): [".SH \(Roff.escaped(text.uppercased()))"]
      case .subheading(let text): [".SS \(Roff.line(text))"]
      case .text(let text): text.split(separator: "\n").flatMap { [".PP", Roff.line(String($0))] }
      case .example(let text):
        [".PP", ".RS 4", ".nf"]
          + text.split(separator: "\n", omittingEmptySubsequences: false).map { Roff.line(String($0)) }
          + [".fi", ".RE"]
      case .item(let term, let text): [".TP", "\\fB\(Roff.escaped(term))\\fR", Roff.line(text)]
      }
    }
  }
}

/// Text in the syntax of troff.
enum Roff {
  /// Returns text with its backslashes and dashes escaped.
  static func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("\n", with: " ")
  }

  /// Returns text for the beginning of a line, where a dot or an apostrophe would be a command.
  static func line(_ text: String) -> String {
    let escaped = escaped(text)
    return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
  }
}
