/// The scheme of a request.
package enum RequestScheme: String, Sendable, Hashable {
  case http, https
  /// A custom scheme.
  case other = ""

  /// Reads the scheme of a request; `nil` if it has none.
  package init?(of fields: borrowing FieldSection) {
    guard let scheme = fields.withValue(of: .scheme, { Self($0) }) else { return nil }
    self = scheme
  }

  package init(_ bytes: UnsafeRawBufferPointer) {
    self =
      FieldGrammar.equal(bytes, lowercased: "http")
      ? .http : FieldGrammar.equal(bytes, lowercased: "https") ? .https : .other
  }
}
