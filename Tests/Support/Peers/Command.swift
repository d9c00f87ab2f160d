package import Foundation

/// A command run to its end.
package struct CommandResult: Sendable {
  package let exitCode: Int32
  package let output: Data
  package let errorText: String
  package let duration: Duration

  package var text: String { String(decoding: output, as: UTF8.self) }
}

extension Program {
  /// Runs the program; SIGKILL and a failure where it outlives the limit. A signal counts as 128 and its number.
  package func run(
    _ arguments: [String], within limit: Duration = .seconds(30), environment: [String: String] = [:]
  ) async throws -> CommandResult {
    try await Self.run(path(), arguments, within: limit, environment: environment)
  }

  /// The same for a program at a path.
  package static func run(
    _ path: String, _ arguments: [String], within limit: Duration = .seconds(30), environment: [String: String] = [:]
  ) async throws -> CommandResult {
    let child = try ChildProcess(path, arguments, environment: environment)
    let exit = await child.waitForExit(within: limit)
    guard let exit, let duration = child.duration else {
      await child.stop(within: .milliseconds(200))
      throw PeerFailure("\(child.name) \(arguments) still ran after \(limit): \(child.errorText)")
    }
    await child.waitForOutput(within: .seconds(2))
    let code =
      switch exit {
      case .code(let code): code
      case .signal(let signal): 128 + signal
      }
    return CommandResult(exitCode: code, output: child.output, errorText: child.errorText, duration: duration)
  }
}
