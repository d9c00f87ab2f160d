/// Host name patterns of known_hosts and ssh_config: `*` matches any characters, `?` matches one, and a leading `!` excludes
/// names that the others match.
package enum PatternList {
  package static func matches(_ name: some StringProtocol, _ patterns: some Sequence<some StringProtocol>) -> Bool {
    let name = Array(name.utf8)
    var isMatched = false
    for pattern in patterns {
      let isNegated = pattern.hasPrefix("!")
      guard matches(name, pattern: Array(pattern.utf8.dropFirst(isNegated ? 1 : 0))) else { continue }
      if isNegated { return false }
      isMatched = true
    }
    return isMatched
  }

  /// Takes time proportional to the product of both lengths for any pattern: on a mismatch, the last star takes one more byte.
  static func matches(_ name: [UInt8], pattern: [UInt8]) -> Bool {
    var at = 0
    var position = 0
    var star: (pattern: Int, name: Int)?
    while at < name.count {
      if position < pattern.count, pattern[position] == UInt8(ascii: "*") {
        star = (position, at)
        position += 1
      } else if position < pattern.count, pattern[position] == UInt8(ascii: "?") || pattern[position] == name[at] {
        position += 1
        at += 1
      } else if let last = star {
        star = (last.pattern, last.name + 1)
        position = last.pattern + 1
        at = last.name + 1
      } else {
        return false
      }
    }
    return pattern[position...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
