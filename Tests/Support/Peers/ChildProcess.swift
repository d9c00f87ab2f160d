package import Foundation

/// A program that a test talks to, in its own process group; it is killed when the last reference is released.
package final class ChildProcess: Sendable {
  /// How a process ended.
  package enum Exit: Sendable, Equatable {
    case code(Int32)
    case signal(Int32)
  }

  package let name: String
  private let life: ProcessLife
  private let standardOutput: CapturedOutput
  private let standardError: CapturedOutput

  /// Starts a program with nothing on its standard input.
  /// - Parameter socket: becomes the child's descriptor 3, and stays open in this process.
  package init(
    _ path: String, _ arguments: [String], environment: [String: String] = [:], socket: Int32? = nil
  ) throws {
    name = URL(filePath: path).lastPathComponent
    let output = try Self.pipe()
    let error = try Self.pipe()
    defer {
      close(output.write)
      close(error.write)
    }
    standardOutput = CapturedOutput(reading: output.read)
    standardError = CapturedOutput(reading: error.read)
    life = try ProcessLife(
      of: Self.spawn(path, arguments, environment, output: output.write, error: error.write, socket: socket))
  }

  deinit {
    life.killGroup()
  }

  package var id: pid_t { life.id }
  package var exit: Exit? { life.exit }
  /// The time from the start to the exit; `nil` while it runs.
  package var duration: Duration? { life.duration }
  package var output: Data { standardOutput.bytes }
  package var errorText: String { standardError.text }

  package func send(_ signal: Int32) {
    life.send(signal)
  }

  /// Waits for the exit. Returns `nil` if the process still runs after that time.
  package func waitForExit(within limit: Duration) async -> Exit? {
    await life.wait(within: limit)
  }

  /// Sends SIGTERM, then SIGKILL to the whole group if the process does not exit in time.
  @discardableResult
  package func stop(within limit: Duration = .seconds(5)) async -> Exit? {
    send(SIGTERM)
    if let exit = await waitForExit(within: limit) { return exit }
    life.killGroup()
    return await waitForExit(within: limit)
  }

  /// Waits for a line on standard error and returns it.
  package func errorLine(containing text: String, within limit: Duration) async throws -> String {
    try await line(of: standardError, containing: text, within: limit)
  }

  /// Waits for a line on standard output and returns it.
  package func outputLine(containing text: String, within limit: Duration) async throws -> String {
    try await line(of: standardOutput, containing: text, within: limit)
  }

  /// Waits until both outputs are complete.
  package func waitForOutput(within limit: Duration) async {
    await standardOutput.waitForEnd(within: limit)
    await standardError.waitForEnd(within: limit)
  }

  private func line(of output: CapturedOutput, containing text: String, within limit: Duration) async throws -> String {
    @Sendable func find(in all: String) -> String? {
      all.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).dropLast().first { $0.contains(text) }
        .map(String.init)
    }
    await output.wait(within: limit) { find(in: $0) != nil }
    guard let line = find(in: output.text) else {
      throw PeerFailure("\(name) did not print \"\(text)\". It printed: \(output.text) \(errorText)")
    }
    return line
  }
}
