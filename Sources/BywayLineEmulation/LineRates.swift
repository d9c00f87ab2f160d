/// The rates that a program has set at an end of a line, in bits per second.
package struct LineRates: Sendable, Hashable {
  package let input: Int
  package let output: Int

  package init(input: Int, output: Int) {
    self.input = input
    self.output = output
  }
}
