import ArgumentParser
import Byway
import BywayDaemon
import BywayDaemonProcess
import BywayGatewayProgram
import BywayLibC
import BywayTerminal

/// The options for the whole process of a daemon, on the command line or before the first section of a file.
struct DaemonOptions: ParsableArguments {
  @Option(help: .value("seconds", "How long running requests may go on after SIGTERM. (default: 10)"))
  var drain: Seconds?

  @Option(help: .value("level", "How much to log. (default: info)"))
  var logLevel: LogLevel?

  @Option(
    help: .value(
      "size",
      "The most memory to hold for clients and for the servers that they reach. (default: 64M, or a quarter of the process's memory)"
    ))
  var memoryBudget: Size?

  @OptionGroup var observation: ObservationOptions

  func validate() throws {
    if let mistake = MemoryLimit.mistake(in: memoryBudget?.bytes) { throw ValidationError(mistake) }
  }

  /// - Throws: ``CommandFailure`` or ``BywayError`` if an address is wrong.
  func settings(in transports: TransportRegistry) throws -> DaemonSettings {
    DaemonSettings(
      drain: (drain ?? Seconds(10)).amount, logLevel: logLevel, logFormat: observation.logFormat,
      memoryBudget: memoryBudget?.bytes, observation: try observation.settings(in: transports))
  }
}

/// The options that a file cannot set.
struct DaemonFileOptions: ParsableArguments {
  @Option(
    help: .value(
      "file",
      "Read options from a file of \"name = value\" lines. Options on the command line override those in the file."),
    completion: .file())
  var config: String?

  @Flag(help: "Report the errors in the options and the file, and exit.")
  var check = false

  @Option(
    help: .value(
      "name",
      "Its name in byway status. (default: that of the configuration file, or of the command with its process id)"))
  var instance: String?

  /// - Parameter kind: `gateway` or `proxy`.
  /// - Throws: ``CommandFailure`` if the name cannot be that of a folder.
  func name(of kind: String) throws(CommandFailure) -> DaemonName {
    if let instance {
      guard ShortName.isValid(instance) else {
        throw CommandFailure(.usage, "--instance \(instance): use letters, digits, -, _ and dots.")
      }
      return DaemonName(instance, isGiven: true)
    }
    let file = config?.split(separator: "/").last.map { $0.hasSuffix(".conf") ? $0.dropLast(5) : $0 }
    if let file, ShortName.isValid(file) { return DaemonName(String(file), isGiven: false) }
    return .ofProcess(kind)
  }
}
