/// The properties of a medium that corrupts, loses or interrupts bytes: a serial line.
///
/// The core inserts the line layer between the line and HTTP, which makes it a reliable stream.
public struct LineProperties: Sendable, Hashable {
  /// The rate of the medium in each direction: at 8N1 a tenth of the baud rate. `nil` if it is unknown, or has no meaning.
  public var bytesPerSecond: Int?
  /// Whether bytes arrive unchanged and in order until the line is lost. The window is then large, and frames
  /// have no correction.
  package var isClean = false

  /// Creates the properties of a line with that rate.
  /// - Parameter bytesPerSecond: the rate of the medium in each direction; `nil` if unknown.
  public init(bytesPerSecond: Int?) {
    self.bytesPerSecond = bytesPerSecond
  }
}

extension LineProperties {
  /// The window of a clean line, in bytes: the most that the protocol has, for media that are fast and answer late.
  package static let cleanWindow = 500 * 1024
}
