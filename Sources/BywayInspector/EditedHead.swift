import Byway
import BywayInterceptors
import BywayPrimitives
import HTTPTypes

/// A part of an edit that cannot be accepted, with the reason for its user.
struct EditFlaw: Error, Sendable, Equatable {
  enum Part: String, Sendable {
    case method, path, status, fields, body
  }

  let part: Part
  let reason: String

  init(_ part: Part, _ reason: String) {
    self.part = part
    self.reason = reason
  }
}

/// The edited head of a message, in the JSON that pages send. A missing member leaves its part as it is.
struct EditedHead: Sendable {
  /// The maximum number of fields, and of the bytes of their names and values.
  private static let limits = (fields: 256, bytes: 64 << 10)

  private let method: String?
  private let path: String?
  private let status: Int?
  /// The new fields. A field without a value keeps its previous values.
  private let fields: [(name: String, value: String?)]?

  /// The members of an edit: those of the head, and the body.
  static let members = ["method", "path", "status", "fields", "body"]

  /// - Parameter json: an object with `method`, `path`, `status` and `fields`, each of which may be missing.
  init(_ json: JSON) throws(EditFlaw) {
    method = try Self.text(json, "method", .method)
    path = try Self.text(json, "path", .path)
    status = try json["status"].map(Self.status)
    fields = try json["fields"].map(Self.fields)
  }

  private static func text(_ json: JSON, _ name: String, _ part: EditFlaw.Part) throws(EditFlaw) -> String? {
    guard let value = json[name] else { return nil }
    guard let text = value.text else { throw EditFlaw(part, "the \(name) is not text") }
    return text
  }

  private static func status(_ json: JSON) throws(EditFlaw) -> Int {
    guard case .number(let text) = json, let code = Int(text), (200...599).contains(code) else {
      throw EditFlaw(.status, "a status is a number from 200 to 599")
    }
    return code
  }

  private static func fields(_ json: JSON) throws(EditFlaw) -> [(name: String, value: String?)] {
    guard case .array(let pairs) = json else { throw EditFlaw(.fields, "fields are a list of pairs") }
    var fields: [(name: String, value: String?)] = []
    for pair in pairs {
      let texts = pair.elements.compactMap(\.text)
      guard (1...2).contains(texts.count), texts.count == pair.elements.count else {
        throw EditFlaw(.fields, "a field is [\"name\", \"value\"], or [\"name\"] if it does not change")
      }
      fields.append((texts[0], texts.count > 1 ? texts[1] : nil))
    }
    let bytes = fields.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.utf8.count ?? 0) }
    guard fields.count <= limits.fields, bytes <= limits.bytes else {
      throw EditFlaw(.fields, "there are at most \(limits.fields) fields with \(limits.bytes >> 10) KiB of text")
    }
    return fields
  }

  // MARK: Application

  /// - Parameters:
  ///   - isFixed: whether an edit cannot change a field, by its name in lower case. Such fields stay as they are.
  func apply(to head: inout HTTPRequest, isFixed: (String) -> Bool) throws(EditFlaw) {
    if status != nil { throw EditFlaw(.status, "a request has no status") }
    if let method {
      guard let method = HTTPRequest.Method(method), method.rawValue.uppercased() != "CONNECT" else {
        throw EditFlaw(.method, "\"\(method.visible)\" is not a method")
      }
      head.method = method
    }
    if let path {
      guard path.hasPrefix("/"), path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !path.contains("#") else {
        throw EditFlaw(
          .path, "a path begins with / and has neither spaces, nor #, nor letters beyond ASCII: escape them")
      }
      try Self.checkPlaceholder(path, before: head.path ?? "", .path, "the path")
      head.path = path
    }
    head.headerFields = try edited(head.headerFields, isFixed)
  }

  func apply(to head: inout HTTPResponse, isFixed: (String) -> Bool) throws(EditFlaw) {
    if method != nil { throw EditFlaw(.method, "a response has no method") }
    if path != nil { throw EditFlaw(.path, "a response has no path") }
    if let status { head.status = .init(code: status) }
    head.headerFields = try edited(head.headerFields, isFixed)
  }

  private func edited(_ before: HTTPFields, _ isFixed: (String) -> Bool) throws(EditFlaw) -> HTTPFields {
    guard let fields else { return before }
    var after = HTTPFields(before.filter { isFixed($0.name.canonicalName) })
    for (text, value) in fields {
      guard let name = HTTPField.Name(text) else {
        throw EditFlaw(.fields, "\"\(text.visible)\" is not the name of a field")
      }
      guard value == nil || name.canonicalName != "host" else {
        throw EditFlaw(.fields, "its host cannot change: leave host out")
      }
      guard !isFixed(name.canonicalName) else {
        throw EditFlaw(.fields, "\(text) cannot be edited, because Byway sets it: leave it out")
      }
      guard HTTPField.isValidValue(value ?? "") else {
        throw EditFlaw(.fields, "the value of \(text) has a line break or another control character")
      }
      guard let value else {
        for value in before[values: name] { after.append(HTTPField(name: name, value: value)) }
        continue
      }
      if !before[values: name].contains(value) {
        try Self.checkPlaceholder(value, before: "", .fields, "the value of \(text)")
      }
      after.append(HTTPField(name: name, value: value))
    }
    return after
  }

  /// Checks that an edit does not send the placeholder of a secret in its place.
  static func checkPlaceholder(
    _ text: String, before: String, _ part: EditFlaw.Part, _ place: String
  ) throws(EditFlaw) {
    guard text.contains(Trace.Redaction.mark), !before.contains(Trace.Redaction.mark) else { return }
    throw EditFlaw(part, "\(place) contains \(Trace.Redaction.mark) in place of a secret: write the secret")
  }
}
