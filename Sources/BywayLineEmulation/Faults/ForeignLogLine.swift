/// Log lines of another program on the same wire, such as a kernel that logs to its serial console. A log line takes its time on the wire,
/// and may interrupt a frame.
public struct ForeignLogLine: LineFault {
  public static let name = "log-line"
  private let interval: UInt64
  private let text: String?
  private var next: UInt64
  private var count = 0

  /// Creates log lines at regular times.
  /// - Parameters:
  /// - interval: the interval; zero for no lines. A line is left out if the previous one still waits.
  /// - text: the text with its line end; `nil` for a line like those of a kernel, with the emulated time.
  public init(every interval: Duration, text: String? = nil) {
    self.interval = interval.nanoseconds
    self.text = text
    next = self.interval
  }

  public var nextForeignBytes: UInt64? { interval > 0 ? next : nil }

  public mutating func foreignBytes(at time: UInt64, using random: inout SplitMix64) -> [UInt8] {
    next += ((max(time, next) - next) / interval + 1) * interval
    count += 1
    return Array((text ?? Self.kernelLine(number: count, at: time)).utf8)
  }

  private static func kernelLine(number: Int, at time: UInt64) -> String {
    let seconds = String(time / 1_000_000_000)
    let micros = String(time / 1000 % 1_000_000)
    let stamp = pad(seconds, to: 5, with: " ") + "." + pad(micros, to: 6, with: "0")
    return "[\(stamp)] usb 1-1: new full-speed USB device number \(number) using xhci_hcd\r\n"
  }

  private static func pad(_ text: String, to width: Int, with character: Character) -> String {
    String(repeating: character, count: max(0, width - text.utf8.count)) + text
  }
}
