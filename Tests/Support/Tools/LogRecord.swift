package import Logging
import Synchronization

/// A record of log messages.
package final class LogRecord: Sendable {
  /// A message with its metadata.
  package struct Entry: Sendable {
    package let level: Logger.Level
    package let message: String
    package let metadata: Logger.Metadata
    /// The metadata of the logger itself.
    package let context: Logger.Metadata
  }

  private let recorded = Mutex<[Entry]>([])

  package init() {}

  package var entries: [Entry] { recorded.withLock { $0 } }

  /// The messages in order, without level and metadata.
  package var messages: [String] { entries.map(\.message) }

  /// The messages in order, each as "level message key=value …".
  package var all: [String] {
    entries.map { entry in
      let pairs = entry.metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
      return "\(entry.level) \(entry.message)\(pairs.joined())"
    }
  }

  package var logger: Logger { Logger(label: "test") { _ in Handler(record: self) } }

  private struct Handler: LogHandler {
    let record: LogRecord
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let entry = Entry(
        level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:], context: metadata)
      record.recorded.withLock { $0.append(entry) }
    }
  }
}
