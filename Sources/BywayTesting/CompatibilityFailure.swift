/// A violation of the contract by a transport.
public struct CompatibilityFailure: Error, CustomStringConvertible {
  public let description: String

  init(_ description: String) {
    self.description = description
  }

  func naming(_ check: TransportCompatibility.Check, of scheme: String) -> CompatibilityFailure {
    CompatibilityFailure("\(scheme): \"\(check)\": \(description)")
  }
}

func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws(CompatibilityFailure) {
  if !condition { throw CompatibilityFailure(message()) }
}
