import Byway
import BywayHTTPWire

/// A token that identifies the dialing end (RFC 6750).
struct BearerToken: Sendable, Hashable {
  private let text: String

  init(file path: String, code: BywayError.Code) throws(BywayError) {
    text = try SecretFile.read(path, option: "token-file", code: code)
  }

  /// The value of `Authorization`.
  var credentials: String { "Bearer \(text)" }

  /// Whether a request has this token. The time does not depend on the position of a wrong character.
  func isIn(_ fields: FieldSection) -> Bool {
    guard let value = fields.text(of: "authorization"), let space = value.firstIndex(of: " "),
      value[..<space].lowercased() == "bearer"
    else { return false }
    let (given, expected) = (Array(value[value.index(after: space)...].utf8), Array(text.utf8))
    guard given.count == expected.count else { return false }
    return zip(given, expected).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
