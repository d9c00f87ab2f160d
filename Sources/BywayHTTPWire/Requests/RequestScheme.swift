/// The scheme of a request.
package enum RequestScheme: String, Sendable, Hashable {
  case http, https
  /// A custom scheme.
  case other = ""

  package init(_ bytes: UnsafeRawBufferPointer) {
    self =
      FieldGrammar.equal(bytes, lowercased: "http")
      ? .http : FieldGrammar.equal(bytes, lowercased: "https") ? .https : .other
  }
}
