import BywayDaemonProcess

/// The values of all options of byway-gateway.
struct ProgramSettings: Sendable {
  var gateway = GatewaySettings()
  var drain = Seconds(10)
  /// `nil` for the usual level.
  var logLevel: LogLevel?
  /// `nil` for the format that suits standard error.
  var logFormat: LogFormat?
  /// The most bytes to hold for peers; `nil` for the usual limit.
  var memoryBudget: Size?
}
