package import NIOCore

/// A time in seconds, as users type it, with an optional fraction.
package struct Seconds: Sendable, Hashable {
  package let amount: TimeAmount
  package var duration: Duration { Duration(amount) }

  package init(_ seconds: Int64) {
    amount = .seconds(seconds)
  }

  /// Returns `nil` if the text is not a number from 0 to 10⁹.
  package init?(argument: String) {
    let isDecimal = argument.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    guard isDecimal, let seconds = Double(argument), seconds <= 1e9 else { return nil }
    amount = .nanoseconds(Int64(seconds * 1e9))
  }
}
