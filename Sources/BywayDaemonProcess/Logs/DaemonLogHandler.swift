import BywayLibC
import BywayPrimitives
package import Logging

/// A log handler for daemons that writes one line for each event to standard error, as standard output may be the link.
package struct DaemonLogHandler: LogHandler {
  private let label: String
  private let write: @Sendable ([UInt8]) -> Void
  package var metadata: Logger.Metadata = [:]

  /// A logger of this process.
  package static func logger(_ label: String) -> Logger {
    Logger(label: label) { label in
      DaemonLogHandler(label: label) { try? Descriptor.write($0, to: STDERR_FILENO) }
    }
  }

  /// - Parameter write: Is called with whole lines.
  init(label: String, write: @escaping @Sendable ([UInt8]) -> Void) {
    self.label = label
    self.write = write
  }

  private var minimum = Logger.Level.trace

  /// The level of the whole process, which can change while this runs, or its own if that logs less.
  package var logLevel: Logger.Level {
    get { max(LogLevels.current, minimum) }
    set { minimum = newValue }
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    let all = event.metadata.map { metadata.merging($0) { $1 } } ?? metadata
    let line = LogLine(
      time: .now(), level: event.level, label: label, message: event.message.description,
      metadata: all.sorted { $0.key < $1.key }.map { ($0.key, $0.value.description) })
    write(line.bytes(LogLevels.currentFormat))
  }
}
