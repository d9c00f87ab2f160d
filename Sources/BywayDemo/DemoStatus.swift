import BywayTerminal
import NIOCore

/// The current state of the demo's line, as one line of text.
struct DemoStatus: Sendable {
  /// Bytes per second, towards the user and towards the device.
  var down = 0
  var up = 0
  var latency: TimeAmount?
  /// The time since the cable was pulled, while it is out.
  var pulledFor: TimeAmount?
  var noise = ""
  var wrongBits = 0
  /// Frames that were sent again.
  var repaired = 0

  init() {}

  /// Returns the text for a terminal. A narrow one omits the less important parts. One column stays free, so that nothing wraps.
  func text(width: Int, style: TextStyle) -> String {
    let traffic = pulledFor.map { "cable out for \(Self.seconds($0)) s" } ?? "↓ \(downward)   \(delay) ms"
    let damage = "\(wrongBits) errors, \(repaired) resent"
    let keys = "p \(pulledFor == nil ? "pull" : "plug")  e \(noise)  q quit"
    let choices = [[traffic, "↑ \(upward)", damage, keys], [traffic, damage, keys], [traffic, keys], [traffic]]
    let texts = choices.map { $0.joined(separator: "   ") }
    let text = texts.first { $0.count < width } ?? String(traffic.prefix(max(width - 1, 0)))
    return pulledFor == nil ? style.accent(text) : style.bad(text)
  }

  /// The text for a file.
  var text: String {
    let cable = pulledFor.map { ", cable out for \(Self.seconds($0)) s" } ?? ""
    return "line: down \(downward), up \(upward), round trip \(delay) ms, \(wrongBits) bits wrong, "
      + "\(repaired) frames sent again\(cable)"
  }

  private var downward: String { "\(Self.rate(down)) \(down * 100 / DemoLine.bytesPerSecond)%" }
  private var upward: String { Self.rate(up) }
  private var delay: String { latency.map { Decimal.text(Double($0.nanoseconds) / 1e6, digits: 0) } ?? "…" }

  private static func rate(_ bytes: Int) -> String { "\(Decimal.text(Double(bytes) / 1024, digits: 1)) KiB/s" }
  private static func seconds(_ time: TimeAmount) -> String { Decimal.text(Double(time.nanoseconds) / 1e9, digits: 1) }
}
