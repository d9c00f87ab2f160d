import Byway
import BywayLibC
import BywayPrimitives
import Logging

/// Checks that an adapter with a latency timer does not hold back received bytes, after requesting low latency as each link
/// does.
struct LatencyCheck: LinkCheck {
  static let title = "latency"

  let path: String
  let format: LineFormat

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    let file = LowLatency.file(of: path)
    guard let port = try? SerialPort(path: path, format: format) else {
      return .undecided("It cannot be opened: a later check says why.")
    }
    port.requestLowLatency(
      logger: Logger(label: "byway.doctor", factory: { _ in SwiftLogNoOpLogHandler() }), advice: SingleAdvice())
    port.release()
    guard let milliseconds = LowLatency.milliseconds(file), milliseconds > LowLatency.wanted else {
      return .sound("It hands bytes up after \(LowLatency.wanted) ms.")
    }
    let (path, wanted) = (path, "\(LowLatency.wanted)\n")
    return .noted(
      "It hands bytes up after \(milliseconds) ms.",
      Diagnosis(
        .slowAdapter, "The adapter holds received bytes for up to \(milliseconds) ms, which is most of a round trip.",
        command: "echo \(LowLatency.wanted) | sudo tee \(file)",
        remedy: Remedy { KernelFile.write(wanted, to: file) ? "The latency timer of \(path) is 1 ms now." : nil }))
  }
}
