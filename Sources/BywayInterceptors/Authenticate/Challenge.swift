import BywayHTTPWire
import BywayPrimitives

/// A challenge of a `WWW-Authenticate` field (RFC 9110 §11.3).
struct Challenge: Equatable {
  /// The scheme in lower case.
  let scheme: String
  /// The values by name in lower case, without quotes.
  private(set) var parameters: [String: String] = [:]

  subscript(name: String) -> String? { parameters[name] }

  /// Returns the challenges of all fields of that name, in their order. A scheme has all parameters up to the next scheme: a comma
  /// may separate parameters as well as challenges (§11.6.1).
  static func all(in fields: [String]) -> [Challenge] {
    var challenges: [Challenge] = []
    for member in fields.flatMap({ ListMembers($0) }) {
      let name = member.utf8.prefix { $0 != UInt8(ascii: "=") && $0 != 0x20 && $0 != 0x09 }
      let rest = String(decoding: member.utf8.dropFirst(name.count), as: UTF8.self).trimmed
      let word = String(decoding: name, as: UTF8.self).lowercased()
      if rest.hasPrefix("=") {
        challenges.indices.last.map { challenges[$0].add(word, rest) }
      } else {
        challenges.append(Challenge(scheme: word))
        let parameter = rest.utf8.prefix { $0 != UInt8(ascii: "=") }
        let value = String(decoding: rest.utf8.dropFirst(parameter.count), as: UTF8.self)
        challenges[challenges.count - 1].add(String(decoding: parameter, as: UTF8.self).trimmed.lowercased(), value)
      }
    }
    return challenges
  }

  /// Returns the parameters of `Authentication-Info`, which have the same form (RFC 7615 §3).
  static func information(in fields: [String]) -> Challenge {
    all(in: ["information " + fields.joined(separator: ", ")]).first ?? Challenge(scheme: "information")
  }

  private init(scheme: String) {
    self.scheme = scheme
  }

  /// - Parameter value: The value with the equals sign in front.
  private mutating func add(_ name: String, _ value: String) {
    guard !name.isEmpty, value.hasPrefix("=") else { return }
    // A parameter that occurs twice may be an attack; the first one counts.
    if parameters[name] == nil { parameters[name] = value.dropFirst().trimmed.unquoted }
  }
}
