import Byway
import BywayPrimitives
import BywayTerminal
import NIOCore

/// An exchange as the demo shows it.
struct PrintedExchange: Sendable {
  var method: String
  var path: String
  /// `nil` if there was no response.
  var status: Int?
  /// The size of the response's body.
  var bytes: Int
  var time: TimeAmount
  /// Whether the body arrived completely.
  var isComplete: Bool

  init(method: String, path: String, status: Int?, bytes: Int, time: TimeAmount, isComplete: Bool) {
    self.method = method
    self.path = path
    self.status = status
    self.bytes = bytes
    self.time = time
    self.isComplete = isComplete
  }

  // With these widths a row that was cut off has 79 columns.
  private static let methodWidth = 7
  private static let pathWidth = 30

  static let heading =
    "method".padded(methodWidth + 1) + "path".padded(pathWidth) + "  status" + "bytes".padded(12, alignRight: true)
    + "time".padded(12, alignRight: true)

  func line(_ style: TextStyle) -> String {
    let status = status.map(style.status) ?? style.bad("---")
    return Self.cut(method, to: Self.methodWidth) + " " + Self.cut(path, to: Self.pathWidth) + "  \(status)   "
      + ByteCount.text(bytes).padded(12, alignRight: true)
      + "\(Decimal.text(Double(time.nanoseconds) / 1e6, digits: 1)) ms".padded(12, alignRight: true)
      + (isComplete ? "" : style.bad("  cut off"))
  }

  private static func cut(_ text: String, to width: Int) -> String {
    let visible = text.visible
    return (visible.count > width ? visible.prefix(width - 1) + "…" : visible).padded(width)
  }
}
