import ArgumentParser
import BywayPrimitives

/// The parser's description of one argument of a command.
struct ArgumentFacts: Equatable {
  enum Kind: String {
    case positional, option, flag
  }

  let kind: Kind
  /// The names with their dashes: `-o`, `--output`.
  let names: [String]
  let isOptional: Bool
  let isRepeating: Bool
  let isShown: Bool
  let section: String?
  let valueName: String
  let defaultValue: String?
  let values: [String]
  let abstract: String
  let discussion: String

  /// Returns all arguments in the order of their declaration. The parser describes itself only in JSON, for other tools.
  static func all(of arguments: any ParsableArguments.Type) -> [ArgumentFacts] {
    JSON(parsing: arguments._dumpHelp())?["command"]?["arguments"]?.elements.compactMap { ArgumentFacts($0) } ?? []
  }

  init?(_ json: JSON) {
    guard let kind = json["kind"]?.text.flatMap(Kind.init) else { return nil }
    self.kind = kind
    names = (json["names"]?.elements ?? []).compactMap { name in
      guard let text = name["name"]?.text else { return nil }
      return name["kind"]?.text == "long" ? "--\(text)" : "-\(text)"
    }
    isOptional = json["isOptional"]?.isTrue ?? false
    isRepeating = json["isRepeating"]?.isTrue ?? false
    isShown = json["shouldDisplay"]?.isTrue ?? true
    section = json["sectionTitle"]?.text
    valueName = json["valueName"]?.text ?? ""
    defaultValue = json["defaultValue"]?.text
    values = (json["allValues"]?.elements ?? []).compactMap(\.text)
    abstract = json["abstract"]?.text ?? ""
    discussion = json["discussion"]?.text ?? ""
  }
}
