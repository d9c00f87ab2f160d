import Foundation
import NIOCore

// Asks a question on the terminal, as a login does. The argument is the time limit in milliseconds.
@testable import SSHTransport

// Exits with the length of the answer, 100 without an answer, or 101 at the time limit.
@main
enum TerminalProbe {
  static func main() async {
    let limit = CommandLine.arguments.dropFirst().first.flatMap { Int64($0) } ?? 10_000
    do {
      let answer = try await TerminalPrompter().ask(
        "Question\u{1B}\u{9B}: ", echo: false, until: .now() + .milliseconds(limit))
      exit(Int32(answer?.count ?? 100))
    } catch {
      exit(101)
    }
  }
}
