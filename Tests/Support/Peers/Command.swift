package import Foundation

/// The result of a command that has exited.
package struct CommandResult: Sendable {
  package let exitCode: Int32
  package let output: Data
  package let errorText: String
  package let duration: Duration

  package var text: String { String(decoding: output, as: UTF8.self) }
}

extension Program {
  /// Runs the program to its end. Kills it and throws if it outlives the limit. The exit code for a signal is 128 plus its number.
  package func run(
    _ arguments: [String], within limit: Duration = .seconds(30), environment: [String: String] = [:]
  ) async throws -> CommandResult {
    try await Self.run(path(), arguments, within: limit, environment: environment)
  }

  /// Runs the program at a path in the same way.
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

  /// Copies a file to a path as an executable.
  ///
  /// Another process writes the copy. If this process did, a child that another test starts would inherit the descriptor open for writing until it
  /// executes its own program, and executing the copy could fail with ETXTBSY (execve(2)).
  package static func install(_ source: String, as path: String) async throws {
    let result = try await Self.install.run(["-m", "755", source, path])
    guard result.exitCode == 0 else { throw PeerFailure("install \(path): \(result.errorText)") }
  }
}
