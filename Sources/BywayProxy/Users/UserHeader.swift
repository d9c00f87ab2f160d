package import Byway
import BywayHTTPWire
import BywayPrimitives

/// The field in which a reverse proxy names the user, on a Unix socket that only the reverse proxy can write to.
package struct UserHeader: Sendable, Hashable {
  /// The name in lower case.
  package let name: String

  /// - Throws: ``BywayError`` with code `invalidRequest` if such a field cannot have this name.
  package init(_ name: String) throws(BywayError) {
    let lowered = name.lowercased()
    let isToken = lowered.utf8.allSatisfy(FieldGrammar.isTokenByte)
    guard isToken, !lowered.isEmpty, lowered.utf8.count <= 64 else {
      throw BywayError(
        .invalidRequest, "\"\(name.visible)\" is not the name of a field: write X-Remote-User, for example.",
        processing: .none)
    }
    var bytes = lowered
    let isTaken = bytes.withUTF8 { KnownField(lowercased: UnsafeRawBufferPointer($0)) != .other }
    guard !isTaken, lowered != "authorization" else {
      throw BywayError(
        .invalidRequest, "\(name) means something else: use a separate field, X-Remote-User for example.",
        processing: .none)
    }
    self.name = lowered
  }

  enum Reading: Equatable {
    case missing
    case user(UserName)
    /// Several such fields: a client may have sent one of them.
    case several
    case notAName
  }

  /// Reads and removes the field, and removes each field that a CGI or WSGI program would confuse with it. In their environment
  /// `X-Remote-User`, `X_Remote_User` and `x.remote.user` are one variable (RFC 3875 §4.1.18): servers write `_` for each
  /// character that is neither a letter nor a digit.
  func take(from fields: inout FieldSection) -> Reading {
    var values: [String?] = []
    var isForeign = false
    fields.forEachLine { line, name, value in
      guard line.field == .other, resembles(name) else { return }
      if name.elementsEqual(self.name.utf8) {
        values.append(String(validating: FieldGrammar.trim(value), as: UTF8.self))
      } else {
        isForeign = true
      }
    }
    if values.isEmpty, !isForeign { return .missing }
    remove(from: &fields)
    guard let value = values.first else { return .missing }
    guard values.count == 1 else { return .several }
    guard let value, !value.isEmpty else { return .missing }
    return UserName(value).map { .user($0) } ?? .notAName
  }

  func remove(from fields: inout FieldSection) {
    let section = fields
    fields.removeAll { line in line.field == .other && section.withBytes(of: line) { name, _ in resembles(name) } }
  }

  func isIn(_ fields: FieldSection) -> Bool {
    var isFound = false
    fields.forEachLine { line, name, _ in isFound = isFound || line.field == .other && resembles(name) }
    return isFound
  }

  private func resembles(_ other: UnsafeRawBufferPointer) -> Bool {
    other.count == name.utf8.count
      && zip(other, name.utf8).allSatisfy { Self.folded($0) == Self.folded($1) }
  }

  private static func folded(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
    default: UInt8(ascii: "-")
    }
  }
}
