import BywayLibC
import BywayPrimitives

/// A line between pseudo-terminals could not be made.
public struct LineFailure: Error, Sendable, CustomStringConvertible {
  /// The error and its remedy.
  public let description: String

  init(_ description: String) {
    self.description = description
  }

  /// Returns an error with the reason that the system gave for the last call.
  static func system(_ action: String) -> LineFailure {
    LineFailure("\(action): \(SystemError.last).")
  }
}
