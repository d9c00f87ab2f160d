import Foundation
import NIOCore

// Asks one question on the terminal, as a login does. Its argument is how many milliseconds there are to answer.
@testable import SSHTransport

// Ends with the length of the answer, 100 where there is none, 101 where the time was up.
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
