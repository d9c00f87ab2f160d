import BywayHTTPWire
import BywayPrimitives
import HTTPTypes

/// The directives of `Cache-Control` (RFC 9111 §5.2), of a request or a response.
struct CacheControl: Equatable, Sendable {
  /// The fields that a directive applies to (§5.2.2.4, §5.2.2.7).
  enum Extent: Equatable {
    case none
    case fields(Set<HTTPField.Name>)
    /// The whole response, for a directive without an argument.
    case everything
  }

  /// The arguments by the directive's name in lower case, one for each occurrence and without quotes; `nil` if it has none.
  private var directives: [String: [String?]] = [:]

  init(_ fields: HTTPFields) {
    for member in fields[values: .cacheControl].flatMap({ ListMembers($0) }) {
      let name = member.prefix { $0 != "=" }
      let argument = name.count < member.count ? member.dropFirst(name.count + 1).trimmed.unquoted : nil
      directives[name.trimmed.lowercased(), default: []].append(argument)
    }
    // A client older than HTTP/1.1 may use Pragma (§5.4).
    if directives.isEmpty, fields[.pragma].map({ ListMembers($0).contains { $0.lowercased() == "no-cache" } }) == true {
      directives["no-cache"] = [nil]
    }
  }

  func contains(_ name: String) -> Bool { directives[name] != nil }

  /// Returns a directive's time; the stricter one of two that contradict each other. A time that is not a number counts as 0
  /// (§4.2.1).
  subscript(name: String) -> Duration? {
    directives[name]?.map { .seconds(Self.seconds($0) ?? 0) }.min()
  }

  /// Whether a directive has no limit, as `max-stale` may.
  func isUnlimited(_ name: String) -> Bool {
    directives[name].map { $0.allSatisfy { $0 == nil } } ?? false
  }

  func extent(of name: String) -> Extent {
    guard let arguments = directives[name] else { return .none }
    var named: Set<HTTPField.Name> = []
    for argument in arguments {
      let members = argument.map { ListMembers($0).map { HTTPField.Name($0) } } ?? []
      // An argument that names no field, or an invalid one, is taken at its strictest.
      guard !members.isEmpty, !members.contains(nil) else { return .everything }
      named.formUnion(members.compactMap(\.self))
    }
    return .fields(named)
  }

  /// Returns a number of seconds. One that is too large counts as 2^31 (RFC 9111 §1.2.2).
  static func seconds(_ text: String?) -> Int? {
    guard let text, !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return min(Int(text) ?? .max, 1 << 31)
  }
}
