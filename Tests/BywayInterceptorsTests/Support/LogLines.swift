import Logging
import Synchronization

/// Keeps the messages of a logger.
final class LogLines: Sendable {
  private let lines = Mutex<[String]>([])

  var messages: [String] { lines.withLock { $0 } }

  var logger: Logger { Logger(label: "test") { [self] _ in Handler(lines: self) } }

  private struct Handler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let text = "\(event.message) \(event.metadata?["error"].map { "\($0)" } ?? "")"
      lines.lines.withLock { $0.append(text) }
    }
  }
}
