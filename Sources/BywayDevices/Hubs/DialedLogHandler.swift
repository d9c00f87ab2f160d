import Byway
import Logging
import NIOCore

/// The log of devices that dial: at most so many lines in ten seconds, because any peer that can dial causes them. The next line tells how
/// many were left out.
struct DialedLogHandler: LogHandler {
  /// The lines of all devices together.
  static let mostLines = 32

  private var handler: any LogHandler
  private let lines: SharedSparseLog

  /// - Parameter lines: the count of lines, for all devices of a proxy.
  init(_ handler: any LogHandler, _ lines: SharedSparseLog) {
    self.handler = handler
    self.lines = lines
  }

  var metadata: Logger.Metadata {
    get { handler.metadata }
    set { handler.metadata = newValue }
  }

  var metadataProvider: Logger.MetadataProvider? {
    get { handler.metadataProvider }
    set { handler.metadataProvider = newValue }
  }

  var logLevel: Logger.Level {
    get { handler.logLevel }
    set { handler.logLevel = newValue }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { handler[metadataKey: key] }
    set { handler[metadataKey: key] = newValue }
  }

  func log(event: LogEvent) {
    // Debug output is complete.
    guard event.level >= .info else { return handler.log(event: event) }
    guard let leftOut = lines.admit(at: .now()) else { return }
    var event = event
    if leftOut > 0 { event.metadata = (event.metadata ?? [:]).merging(["left out": "\(leftOut)"]) { $1 } }
    handler.log(event: event)
  }
}
