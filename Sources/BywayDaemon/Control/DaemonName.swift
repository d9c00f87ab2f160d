import BywayLibC

/// The name of a daemon, by which `byway status` and other commands know it.
package struct DaemonName: Sendable, Hashable {
  let text: String
  /// Whether the user has given it. Otherwise another daemon may have it as well, and this one gets a number.
  let isGiven: Bool

  /// A user who runs more daemons of one name names them.
  private static let mostNumbers = 99

  package init(_ text: String, isGiven: Bool) {
    self.text = text
    self.isGiven = isGiven
  }

  /// The name for a daemon of this process that has neither a name nor a configuration.
  /// - Parameter kind: `gateway` or `proxy`.
  package static func ofProcess(_ kind: String) -> DaemonName {
    DaemonName("\(kind)-\(getpid())", isGiven: false)
  }

  /// Returns the process in a name that ``ofProcess(_:)`` has made; `nil` if it is another name.
  static func process(of name: String) -> Int32? {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 2, ["gateway", "proxy"].contains(parts[0]), let process = Int32(parts[1]), process > 0 else {
      return nil
    }
    return process
  }

  /// The names to try, in order: `hall`, `hall-2`, `hall-3`.
  var candidates: [String] {
    [text] + (isGiven ? [] : (2...Self.mostNumbers).map { "\(text)-\($0)" })
  }
}
