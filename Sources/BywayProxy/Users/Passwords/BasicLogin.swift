import Byway
import BywayHTTPWire
import BywayPrimitives

/// A name and a password as a client sends them (RFC 7617).
struct BasicLogin: Sendable {
  /// The name as sent; ``UserName`` tells which user it means.
  let name: String
  let password: [UInt8]

  /// The field that carries a login.
  enum Field: Sendable {
    /// A login for the target of the request.
    case authorization
    /// A login for a proxy, in requests in absolute form and CONNECT.
    case proxyAuthorization

    var status: Int { self == .authorization ? 401 : 407 }
    var challenge: String { self == .authorization ? "www-authenticate" : "proxy-authenticate" }
    fileprivate var name: String { self == .authorization ? "authorization" : "proxy-authorization" }
  }

  enum Reading {
    case missing
    case login(BasicLogin)
    /// Several logins: recipients might not all read the same one.
    case several
    /// The field is not a readable Basic login.
    case other
  }

  /// More than people and programs need.
  private static let limit = 1024

  /// Reads and removes all lines of that field: it is not forwarded.
  static func take(_ field: Field, from fields: inout FieldSection) -> Reading {
    let name = field.name
    var values: [[UInt8]] = []
    fields.forEachLine { _, found, value in
      if found.count == name.utf8.count, found.elementsEqual(name.utf8) { values.append(Array(value)) }
    }
    guard let value = values.first else { return .missing }
    let section = fields
    fields.removeAll { line in section.withBytes(of: line) { found, _ in found.elementsEqual(name.utf8) } }
    guard values.count == 1 else { return .several }
    return BasicLogin(value).map { .login($0) } ?? .other
  }

  /// Removes the logins of the given users, and leaves all others.
  static func remove(from fields: inout FieldSection, where isOwn: (UserName) -> Bool) {
    let section = fields
    let name = Field.authorization.name
    fields.removeAll { line in
      section.withBytes(of: line) { found, value in
        found.elementsEqual(name.utf8) && BasicLogin(Array(value)).flatMap { UserName($0.name) }.map(isOwn) ?? false
      }
    }
  }

  private init?(_ value: [UInt8]) {
    let scheme = "basic"
    let words = value.split(separator: 0x20, maxSplits: 1)
    guard value.count <= Self.limit, words.count == 2, words[0].count == scheme.utf8.count,
      zip(words[0], scheme.utf8).allSatisfy({ $0 | 0x20 == $1 }),
      let bytes = Base64.decode(words[1].filter { $0 != 0x20 }),
      let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      // No control characters (RFC 7617 §2): a zero byte would end the password early.
      bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), let name = String(validating: bytes[..<colon], as: UTF8.self)
    else { return nil }
    self.name = name
    password = Array(bytes[(colon + 1)...])
  }
}
