import Foundation
package import TestTools

/// A machine with a login or a shell at its serial console. Its user is `operator`.
package final class ConsoleMachine: Sendable {
  package static let password = "open sesame"

  package let folder: TemporaryFolder
  private let process: ChildProcess

  /// The device that a client opens.
  package var device: String { folder["console"] }

  /// - Parameter arguments: those of Tests/Support/console.py after the folder. Programs are found where the built command is.
  package init(_ arguments: String...) async throws {
    folder = try TemporaryFolder()
    let programs = URL(filePath: try BywayProcess.command()).deletingLastPathComponent().path
    process = try Script.console.start([folder.path, "--path", programs, "--password", Self.password] + arguments)
    _ = try await process.outputLine(containing: "ready", within: .seconds(20))
  }

  /// The address of a link over the console, with these options.
  package func link(_ options: String) -> String { "serial:\(device)?\(options)" }

  /// Gives the machine a command of console.py, and waits until it is done.
  /// - Parameter number: the number of the command since the start, from 1.
  package func command(_ text: String, number: Int) async throws {
    let pipe = open(folder["commands"], O_WRONLY | O_CLOEXEC)
    guard pipe >= 0 else { throw PeerFailure("the machine has no pipe for commands") }
    defer { close(pipe) }
    let line = "\(text)\n"
    guard write(pipe, line, line.utf8.count) == line.utf8.count else { throw PeerFailure("cannot write a command") }
    _ = try await process.outputLine(containing: "done \(number)", within: .seconds(20))
  }

  package func stop() async {
    await process.stop()
  }
}
