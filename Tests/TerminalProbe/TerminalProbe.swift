import NIOCore

// Asks one question on the terminal, as a login does. Its argument is how many milliseconds there are to answer.
@testable import SSHTransport

@main
enum TerminalProbe {
  static func main() async {
    let limit = CommandLine.arguments.dropFirst().first.flatMap { Int64($0) } ?? 10_000
    do {
      let answer = try await TerminalPrompter().ask(
        "Question\u{1B}: ", echo: false, until: .now() + .milliseconds(limit))
      print(answer.map { $0.withBytes { "answer \(String(decoding: $0, as: UTF8.self))" } } ?? "nobody")
    } catch {
      print("error \(error.message)")
    }
  }
}
