package import BywayDaemonProcess
package import NIOCore

/// The settings of a whole daemon.
package struct DaemonSettings: Sendable {
  /// The time that running requests get when the daemon stops.
  let drain: TimeAmount
  /// `nil` for the usual level.
  let logLevel: LogLevel?
  /// `nil` for the format that suits standard error.
  let logFormat: LogFormat?
  /// The most bytes to hold for peers; `nil` for the usual limit.
  let memoryBudget: Int?
  let observation: ObservationSettings

  package init(
    drain: TimeAmount, logLevel: LogLevel?, logFormat: LogFormat?, memoryBudget: Int?, observation: ObservationSettings
  ) {
    self.drain = drain
    self.logLevel = logLevel
    self.logFormat = logFormat
    self.memoryBudget = memoryBudget
    self.observation = observation
  }

  /// Sets the level and the format of the log from now on.
  package func applyToLog() {
    applyLogLevel()
    applyLogFormat()
  }

  func applyLogLevel() { LogLevels.set(logLevel ?? .info) }
  func applyLogFormat() { LogLevels.set(logFormat ?? .usual) }
}
