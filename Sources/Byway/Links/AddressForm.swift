/// A form of the addresses of a scheme, for help.
public struct AddressForm: Sendable, Hashable {
  /// The form, with placeholders in capital letters: `unix:PATH`.
  public var pattern: String
  /// A phrase: "a Unix socket".
  public var meaning: String

  /// Creates a form with its meaning.
  public init(_ pattern: String, _ meaning: String) {
    self.pattern = pattern
    self.meaning = meaning
  }
}
