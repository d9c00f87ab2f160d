import Byway
import BywayInterceptors
import BywayTerminal

/// A part of a form: `-F name=content` in curl's syntax.
struct FormPart {
  private let name: String
  private let fileName: String?
  private let type: String?
  private let content: Body

  /// - Throws: ``CommandFailure`` if the text is not a part of a form, or its file cannot be read.
  init(_ text: String) throws(CommandFailure) {
    guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
      throw CommandFailure(
        .usage, "-F \"\(text)\": write name=text, name=@FILE for a file, or name=<FILE for the text in one.")
    }
    name = String(text[..<equals])
    let value = text[text.index(after: equals)...]
    guard let mark = value.first, mark == "@" || mark == "<" else {
      (fileName, type, content) = (nil, nil, Body(String(value)))
      return
    }
    var words = value.dropFirst().split(separator: ";", omittingEmptySubsequences: false)[...]
    var path = String(words.popFirst() ?? "")
    var settings: [Substring: String] = [:]
    for word in words {
      let name = word.prefix { $0 != "=" }.drop { $0 == " " }
      if name == "type" || name == "filename", word.contains("=") {
        settings[name] = String(word.drop { $0 != "=" }.dropFirst())
      } else {
        // It belongs to the file's name in that case.
        path += ";\(word)"
      }
    }
    content = try InputFile.body(path)
    let base = path.split(separator: "/").last.map(String.init) ?? path
    fileName = mark == "@" ? settings["filename"] ?? base : settings["filename"]
    type = settings["type"] ?? (mark == "@" ? MediaType.ofFile(path) : nil)
  }

  /// Returns the part according to RFC 7578 §4. Characters that a name must not contain are escaped as browsers do it.
  private func bodies(_ boundary: String) -> [Body] {
    var head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(name))\""
    if let fileName { head += "; filename=\"\(Self.escaped(fileName))\"" }
    if let type { head += "\r\nContent-Type: \(Self.escaped(type))" }
    return [Body(head + "\r\n\r\n"), content, Body("\r\n")]
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("\"", with: "%22").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
  }

  /// Returns a form as a request's body, and its type.
  static func form(_ parts: [FormPart]) -> (body: Body, type: String) {
    let boundary =
      "byway-" + String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
    let bodies = parts.flatMap { $0.bodies(boundary) } + [Body("--\(boundary)--\r\n")]
    return (Body(joining: bodies), "multipart/form-data; boundary=\(boundary)")
  }
}
