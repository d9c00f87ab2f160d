import Logging
import Synchronization

/// A record of log messages without their metadata.
final class LoggedMessages: Sendable {
  private let messages = Mutex<[String]>([])

  var all: [String] { messages.withLock(\.self) }

  var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

  private struct Handler: LogHandler {
    let log: LoggedMessages
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { log.messages.withLock { $0.append("\(event.message)") } }
  }
}
