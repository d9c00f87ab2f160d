import Byway
import Logging
import Primitives

/// Keeps what comes from outside from steering the terminal that shows a log, or adding lines of its own to it.
struct VisibleLogHandler: LogHandler {
  private var next: any LogHandler

  init(_ next: any LogHandler) {
    self.next = next
  }

  func log(event: LogEvent) {
    var event = event
    event.message = "\(event.message.description.visible)"
    event.metadata = event.metadata?.mapValues(Self.visible)
    next.log(event: event)
  }

  var logLevel: Logger.Level {
    get { next.logLevel }
    set { next.logLevel = newValue }
  }

  var metadata: Logger.Metadata {
    get { next.metadata }
    set { next.metadata = newValue.mapValues(Self.visible) }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { next[metadataKey: key] }
    set { next[metadataKey: key] = newValue.map(Self.visible) }
  }

  private static func visible(_ value: Logger.Metadata.Value) -> Logger.Metadata.Value {
    switch value {
    case .string(let text): .string(text.visible)
    case .stringConvertible(let value): .string(value.description.visible)
    case .array(let values): .array(values.map(visible))
    case .dictionary(let values): .dictionary(values.mapValues(visible))
    }
  }
}
