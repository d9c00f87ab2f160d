import Foundation

/// A process of the `byway` command.
package final class BywayProcess: Sendable {
  /// The address that the process printed after "ready on".
  package let ready: String
  package let process: ChildProcess

  /// The built command: next to the test bundle, or where the environment variable BYWAY points.
  package static func command() throws -> String { try program("byway", variable: "BYWAY") }

  /// The built small gateway: next to the test bundle, or where the environment variable BYWAY_GATEWAY points.
  package static func smallGateway() throws -> String { try program("byway-gateway", variable: "BYWAY_GATEWAY") }

  private static func program(_ name: String, variable: String) throws -> String {
    let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let beside = URL(filePath: bundle).deletingLastPathComponent().appending(path: name).path
    let path = ProcessInfo.processInfo.environment[variable] ?? beside
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw PeerFailure("\(path) is missing: swift build --product \(name), or set \(variable) to the program's path")
    }
    return path
  }

  /// Runs a command to its end.
  package static func run(
    _ arguments: [String], within limit: Duration = .seconds(30), environment: [String: String] = [:]
  ) async throws -> CommandResult {
    try await Program.run(command(), arguments, within: limit, environment: environment)
  }

  /// Starts a gateway and waits until it is ready.
  /// - Parameter descriptors: the limit of open files; `nil`: the limit of this process.
  package static func gateway(
    _ arguments: [String], environment: [String: String] = [:], descriptors: Int? = nil
  ) async throws -> BywayProcess {
    try await BywayProcess("gateway", arguments, environment, descriptors: descriptors)
  }

  /// Starts the small gateway and waits until it is ready.
  package static func smallGateway(_ arguments: [String], environment: [String: String] = [:]) async throws
    -> BywayProcess
  {
    try await BywayProcess("gateway", ChildProcess(smallGateway(), arguments, environment: environment))
  }

  /// Starts a proxy and waits until it is ready.
  /// - Parameter descriptors: the limit of open files; `nil`: the limit of this process.
  package static func proxy(
    _ arguments: [String], environment: [String: String] = [:], descriptors: Int? = nil
  ) async throws -> BywayProcess {
    try await BywayProcess("proxy", arguments, environment, descriptors: descriptors)
  }

  /// Starts a gateway or a proxy by socket activation, as systemd does.
  /// - Parameters:
  ///   - role: `gateway` or `proxy`.
  ///   - socket: already listens, and outlives the started process.
  ///   - name: the name of the socket for the command.
  package static func activated(
    _ role: String, _ arguments: [String], socket: Int32, name: String
  ) async throws -> BywayProcess {
    // Only the process itself knows its id.
    let announced = ["-c", "LISTEN_PID=$$ exec \"$0\" \"$@\"", try command(), role] + arguments
    let process = try ChildProcess(
      Program.bash.path(), announced, environment: ["LISTEN_FDS": "1", "LISTEN_FDNAMES": name], socket: socket)
    return try await BywayProcess(role, process)
  }

  private convenience init(
    _ role: String, _ arguments: [String], _ environment: [String: String], descriptors: Int? = nil
  ) async throws {
    if let descriptors {
      let limited = ["-c", "ulimit -n \(descriptors) && exec \"$0\" \"$@\"", try Self.command(), role] + arguments
      try await self.init(role, ChildProcess(Program.bash.path(), limited, environment: environment))
    } else {
      try await self.init(role, ChildProcess(Self.command(), [role] + arguments, environment: environment))
    }
  }

  private init(_ role: String, _ process: ChildProcess) async throws {
    self.process = process
    // A gateway that only dials prints no "ready on": it is ready when the far end is.
    let mark = "byway: \(role) "
    let line = try await process.errorLine(containing: mark, within: .seconds(10))
    let words = line.components(separatedBy: mark).last ?? ""
    ready = words.hasPrefix("ready on ") ? String(words.dropFirst("ready on ".count)) : words
  }

  /// Returns the address that the process listens on. Where port 0 was requested, this is the only way to learn the port.
  package func endpoint() throws -> Endpoint {
    let word = ready.split(whereSeparator: { " ,".contains($0) }).first ?? ""
    guard let endpoint = Endpoint(word) else { throw PeerFailure("no address in \"ready on \(ready)\"") }
    return endpoint
  }

  package var log: String { process.errorText }

  package func terminate() {
    process.send(SIGTERM)
  }

  /// Lowers the limit of open files to the number of files now open plus `count`.
  package func limitDescriptors(toMore count: Int) async throws {
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.id)/fd").count
    let result = try await Program.prlimit.run(["--pid", "\(process.id)", "--nofile=\(open + count)"])
    guard result.exitCode == 0 else { throw PeerFailure("prlimit: \(result.errorText)") }
  }

  /// Returns the processor time that the process has used, over all processors.
  package func processorTime() throws -> Duration {
    let stat = try String(contentsOfFile: "/proc/\(process.id)/stat", encoding: .utf8)
    let columns = (stat.split(separator: ")").last ?? "").split(separator: " ")
    guard columns.count > 12, let user = Int(columns[11]), let system = Int(columns[12]) else {
      throw PeerFailure("no processor time of process \(process.id)")
    }
    return .milliseconds((user + system) * 1000 / sysconf(Int32(_SC_CLK_TCK)))
  }

  package func resetPeakMemory() throws {
    try ProcessMemory.resetPeak(of: process.id)
  }

  package func memory() throws -> ProcessMemory {
    try ProcessMemory(of: process.id)
  }
}
