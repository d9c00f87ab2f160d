import Byway
import NIOCore
import Primitives

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

  private static let pathWidth = 32

  static let heading =
    "method".padded(8) + "path".padded(pathWidth) + "  status" + "bytes".padded(12, alignRight: true)
    + "time".padded(12, alignRight: true)

  func line(_ style: TextStyle) -> String {
    let visible = path.visible
    let shown = visible.count > Self.pathWidth ? visible.prefix(Self.pathWidth - 1) + "…" : visible[...]
    let status = status.map(style.status) ?? style.bad("---")
    return method.visible.padded(8) + String(shown).padded(Self.pathWidth) + "  \(status)   "
      + ByteCount.text(bytes).padded(12, alignRight: true)
      + "\(Decimal.text(Double(time.nanoseconds) / 1e6, digits: 1)) ms".padded(12, alignRight: true)
      + (isComplete ? "" : style.bad("  cut off"))
  }
}
