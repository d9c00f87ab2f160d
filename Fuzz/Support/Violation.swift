/// A property that does not hold for an input.
public struct Violation: Error, CustomStringConvertible {
  public let description: String

  package init(_ description: String) {
    self.description = description
  }
}

package func expect(_ holds: Bool, _ message: @autoclosure () -> String) throws(Violation) {
  if !holds { throw Violation(message()) }
}

/// Runs a check for libFuzzer, and reports a finding by a trap.
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int, _ check: ([UInt8]) throws -> Void) -> CInt {
  do {
    try check(Array(UnsafeBufferPointer(start: start, count: count)))
  } catch {
    fatalError("\(error)")
  }
  return 0
}
