/// The tokens of ssh_config(5): `%h`, `%%` and the like, and `${VARIABLE}`.
package struct TokenExpansion {
  let tokens: [Character: String]
  let variables: (String) -> String?

  /// `nil` where a token or a variable is not known.
  package init(tokens: [Character: String], variables: @escaping (String) -> String?) {
    self.tokens = tokens
    self.variables = variables
  }

  package func expand(_ text: String) -> String? {
    var result = ""
    var rest = text[...]
    while let character = rest.popFirst() {
      switch character {
      case "%":
        guard let token = rest.popFirst(), let value = token == "%" ? "%" : tokens[token] else { return nil }
        result += value
      case "$" where rest.first == "{":
        guard let end = rest.firstIndex(of: "}"), let value = variables(String(rest[..<end].dropFirst())) else {
          return nil
        }
        result += value
        rest = rest[rest.index(after: end)...]
      default:
        result.append(character)
      }
    }
    return result
  }
}
