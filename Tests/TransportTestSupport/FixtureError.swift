/// The failure to set up a test's fixture.
package struct FixtureError: Error {
  package let message: String

  package init(_ message: String) { self.message = message }
}
