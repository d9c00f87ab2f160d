import ArgumentParser
import Logging

/// How much a daemon says after its ready line.
enum LogLevel: String, ExpressibleByArgument, CaseIterable, Sendable {
  case trace, debug, info, notice, warning, error, critical

  /// To standard error: standard output may be the link.
  func logger(_ label: String) -> Logger {
    var logger = Logger(label: label, factory: { VisibleLogHandler(StreamLogHandler.standardError(label: $0)) })
    logger.logLevel = Logger.Level(rawValue: rawValue) ?? .info
    return logger
  }
}
