import HTTPTypes

/// The directives of `Cache-Control` (RFC 9111 §5.2), of a request or a response.
struct CacheControl: Equatable, Sendable {
  /// By name in lower case; without quotes; `nil` inside where a directive has no argument.
  private var directives: [String: String?] = [:]

  init(_ fields: HTTPFields) {
    for member in fields[values: .cacheControl].flatMap({ ListMembers($0) }) {
      let name = member.prefix { $0 != "=" }
      let argument = name.count < member.count ? String(member.dropFirst(name.count + 1)).trimmed.unquoted : nil
      let key = String(name).trimmed.lowercased()
      // Of two that contradict each other the stricter one (§4.2.1).
      if let known = directives[key], Self.seconds(known) ?? 0 <= Self.seconds(argument) ?? 0 { continue }
      directives[key] = .some(argument)
    }
    // A request from before HTTP/1.1 (§5.4).
    if directives.isEmpty, fields[.pragma].map({ ListMembers($0).contains { $0.lowercased() == "no-cache" } }) == true {
      directives["no-cache"] = .some(nil)
    }
  }

  func contains(_ name: String) -> Bool { directives[name] != nil }

  /// A directive's time. One that is no number is as good as none left: 0 (§4.2.1).
  subscript(name: String) -> Duration? {
    directives[name].map { .seconds(Self.seconds($0) ?? 0) }
  }

  /// `max-stale` may come without a limit.
  func isUnlimited(_ name: String) -> Bool {
    directives[name].map { $0 == nil } ?? false
  }

  /// RFC 9111 §1.2.2: what is too large to hold counts as 2^31.
  static func seconds(_ text: String?) -> Int? {
    guard let text, !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return min(Int(text) ?? .max, 1 << 31)
  }
}
