import ArgumentParser

/// A share as users write it: `1e-5`, `0.01` or `1%`, with a sign where that makes sense.
struct Share: ExpressibleByArgument, Sendable, Hashable {
  let value: Double

  init(_ value: Double) {
    self.value = value
  }

  init?(argument: String) {
    let isPercentage = argument.hasSuffix("%")
    guard let number = Double(isPercentage ? String(argument.dropLast()) : argument), number.isFinite else {
      return nil
    }
    value = isPercentage ? number / 100 : number
  }

  var defaultValueDescription: String { "0" }
}
