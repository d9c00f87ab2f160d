import ArgumentParser
import Logging

/// How much a daemon says after its ready line.
enum LogLevel: String, ExpressibleByArgument, CaseIterable, Sendable {
  case trace, debug, info, notice, warning, error, critical

  var level: Logger.Level { Logger.Level(rawValue: rawValue) ?? .info }
}
