/// Decides when a connection's reads are held back: at so many bytes that were handed on and not consumed yet, until half of
/// them are.
package struct ReadGate {
  private static let limit = 256 * 1024

  private var unconsumed = 0
  package private(set) var isHeldBack = false

  package init() {}

  package mutating func received(_ bytes: Int) {
    unconsumed += bytes
  }

  package mutating func consumed(_ bytes: Int) {
    unconsumed -= bytes
  }

  /// Another exchange begins.
  package mutating func forget() {
    unconsumed = 0
  }

  /// Whether a read may go on to the channel; if not, it is owed.
  /// - Parameter hasEnough: there is another reason not to read.
  package mutating func admitRead(hasEnough: Bool = false) -> Bool {
    isHeldBack = hasEnough || unconsumed >= Self.limit
    return !isHeldBack
  }

  /// Whether a read is owed and may be made now.
  package mutating func releaseRead(hasEnough: Bool = false) -> Bool {
    guard isHeldBack, !hasEnough, unconsumed < Self.limit / 2 else { return false }
    isHeldBack = false
    return true
  }
}
