import ArgumentParser
import Logging

/// How much a daemon says after its ready line.
enum LogLevel: String, ExpressibleByArgument, CaseIterable, Sendable {
  case trace, debug, info, notice, warning, error, critical

  /// To standard error: standard output may be the link.
  func logger(_ label: String) -> Logger {
    LogLevels.set(self)
    return LogLevels.logger(label)
  }

  var level: Logger.Level { Logger.Level(rawValue: rawValue) ?? .info }
}
