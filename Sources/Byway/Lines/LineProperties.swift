/// The properties of a medium that corrupts, loses or interrupts bytes: a serial line.
///
/// The core answers by putting the line layer between the line and HTTP, which makes of it a stream like any other.
public struct LineProperties: Sendable, Hashable {
  /// The rate in each direction: at 8N1 a tenth of the baud rate. `nil` if it is not known or has no meaning.
  public var bytesPerSecond: Int?

  /// A line of that rate.
  /// - Parameter bytesPerSecond: what the medium carries each way; `nil` where it is not known.
  public init(bytesPerSecond: Int?) {
    self.bytesPerSecond = bytesPerSecond
  }
}
