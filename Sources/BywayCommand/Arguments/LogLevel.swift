import ArgumentParser
import Logging

/// The lowest level that a daemon logs after its ready line.
enum LogLevel: String, ExpressibleByArgument, CaseIterable, Sendable {
  case trace, debug, info, notice, warning, error, critical

  var level: Logger.Level { Logger.Level(rawValue: rawValue) ?? .info }
}
