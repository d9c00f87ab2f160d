package import BywayPrimitives

/// A validator for the subset of JSON Schema that the schemas in docs/ use.
package struct SchemaCheck {
  private let root: JSON

  package init(_ schema: JSON) { root = schema }

  /// Returns the violations.
  /// - Parameter definition: one of the schema's `$defs`; `nil`: the schema itself.
  package func problems(of value: JSON, as definition: String? = nil) -> [String] {
    let schema = definition.map { ["$ref": .string("#/$defs/\($0)")] as JSON } ?? root
    return problems(of: value, by: schema, at: definition ?? "value")
  }

  private func problems(of value: JSON, by schema: JSON, at place: String) -> [String] {
    if let reference = schema["$ref"]?.text {
      let name = reference.split(separator: "/").last.map(String.init) ?? ""
      guard let target = root["$defs"]?[name] else { return ["\(reference) is not in the schema"] }
      return problems(of: value, by: target, at: place)
    }
    if let choices = schema["enum"], !choices.elements.contains(value) { return ["\(place) is \(value)"] }
    switch (schema["type"]?.text, value) {
    case ("string", .string), ("integer", .number), ("number", .number), ("boolean", .bool): return []
    case ("array", .array(let elements)):
      guard let items = schema["items"] else { return [] }
      return elements.flatMap { problems(of: $0, by: items, at: place) }
    case ("object", .object(let members)):
      let missing = (schema["required"]?.elements ?? []).compactMap(\.text).filter { value[$0] == nil }
      return missing.map { "\(place) has no \($0)" }
        + members.flatMap { member -> [String] in
          guard let known = schema["properties"] else { return [] }
          guard let schema = known[member.name] else { return ["\(place).\(member.name) is not documented"] }
          return problems(of: member.value, by: schema, at: "\(place).\(member.name)")
        }
    default: return ["\(place) is not \(schema["type"]?.text ?? "")"]
    }
  }
}
