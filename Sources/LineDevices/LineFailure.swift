import Glibc
import Primitives

/// A line between pseudo-terminals could not be made.
public struct LineFailure: Error, Sendable, CustomStringConvertible {
  /// What happened, and what to try.
  public let description: String

  init(_ description: String) {
    self.description = description
  }

  /// With what the system says of the last call.
  static func system(_ action: String) -> LineFailure {
    LineFailure("\(action): \(SystemError.last).")
  }
}
