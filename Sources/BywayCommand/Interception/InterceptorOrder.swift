import BywayTerminal

/// The interceptors of a gateway or proxy in the order in which they get a request, by their names. A pure value.
struct InterceptorOrder {
  /// The names of those that Byway has itself.
  static let builtIn = ["trace", "record", "stub", "replay", "cache", "auth", "compress"]

  /// The names that the user has listed; `nil` without a list.
  let names: [String]?

  /// - Parameter text: `A,B,C`.
  init(_ text: String?) {
    names = text.map { $0.split(separator: ",", omittingEmptySubsequences: false).map { Self.trimmed($0) } }
  }

  private static func trimmed(_ text: Substring) -> String {
    String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }

  /// Puts interceptors into the listed order; without a list, the order stays.
  /// - Parameters:
  ///   - interceptors: those that are in use.
  ///   - name: the name of one.
  /// - Throws: ``CommandFailure`` if two have the same name, or if the list does not name each of them once.
  func sorted<Named>(_ interceptors: [Named], by name: (Named) -> String) throws(CommandFailure) -> [Named] {
    let known = interceptors.map(name)
    try Self.checkUnique(known)
    guard let names else { return interceptors }
    for (index, name) in names.enumerated() {
      guard known.contains(name) else { throw Self.unknown(name, known) }
      if names[..<index].contains(name) { throw Self.failure("\(name) is in the list twice: leave one of them out.") }
    }
    if let missing = known.first(where: { !names.contains($0) }) {
      throw Self.failure("the list leaves out \(missing): add it at its place.")
    }
    return names.compactMap { wanted in interceptors.first { name($0) == wanted } }
  }

  /// Checks that no name occurs twice: logs and messages have nothing else to tell plugins apart.
  /// - Throws: ``CommandFailure``
  static func checkUnique(_ names: [String]) throws(CommandFailure) {
    for (index, name) in names.enumerated() where names[..<index].contains(name) {
      throw CommandFailure(
        .usage,
        "--interceptor: two plugins are called \(name): give one another name, with as=NAME or in [interceptor NAME].")
    }
  }

  private static func unknown(_ name: String, _ known: [String]) -> CommandFailure {
    if name.isEmpty { return failure("a name is missing: write trace,NAME,cache.") }
    if builtIn.contains(name) { return failure("\(name) is not in use: add --\(name), or take it out of the list.") }
    let all = known.isEmpty ? "There are none." : "The names are \(known.joined(separator: ", "))."
    return failure("no interceptor is called \(name). \(all)")
  }

  private static func failure(_ message: String) -> CommandFailure {
    CommandFailure(.usage, "--interceptors: \(message)")
  }
}
