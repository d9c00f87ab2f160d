/// Something that a test needs cannot be made.
package struct FixtureError: Error {
  package let message: String

  package init(_ message: String) { self.message = message }
}
