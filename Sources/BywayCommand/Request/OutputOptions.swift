import ArgumentParser
import Byway
import BywayTerminal

/// The options for the output of a response and of facts about it, with the names that curl uses.
struct OutputOptions: ParsableArguments {
  @Option(
    name: [.customShort("o", allowingJoined: true), .customLong("output")], parsing: .unconditional,
    help: .value("file", "Write the body to a file; - is standard output. It is FILE.part until it is complete."),
    completion: .file())
  var output: String?

  @Flag(
    name: [.customShort("O"), .customLong("remote-name")],
    help: "Write the body to a file named after the last part of the URL's path.")
  var remoteName = false

  @Option(
    name: [.customShort("C", allowingJoined: true), .customLong("continue-at")], parsing: .unconditional,
    help: .value(
      "-",
      "Resume a partial download: -C -, with -o or -O. Unlike curl, it takes no other offset, starts over if the "
        + "content has changed, and continues by itself when the link is lost."))
  var continueAt: String?

  @Flag(name: [.customShort("i"), .customLong("include")], help: "Show the response's head before its body.")
  var include = false

  @Flag(
    name: [.customShort("f"), .long], help: "Show no body and exit with 22 if the server answers with 400 or more.")
  var fail = false

  @Flag(name: .shortAndLong, help: "Show both heads on standard error.")
  var verbose = false

  @Flag(name: .shortAndLong, help: "Show no progress. Unlike with curl, failures are still reported.")
  var silent = false

  @Flag(name: [.customShort("S"), .long], help: "Accepted for the sake of curl's -sS; failures are always reported.")
  var showError = false

  @Option(
    name: [.customShort("w", allowingJoined: true), .customLong("write-out")], parsing: .unconditional,
    help: .value(
      "format",
      "Write this to standard output after the transfer, with %{http_code}, %{time_total} and the like replaced, and %header{NAME}."
    ))
  var writeOut: String?

  /// - Returns: `nil` for standard output.
  /// - Throws: ``CommandFailure`` if the options contradict each other.
  func path(for request: Request) throws -> String? {
    if let continueAt, continueAt != "-" {
      throw CommandFailure(
        .usage, "-C \(continueAt): only -C - is supported, which finds the offset by itself.")
    }
    guard remoteName else {
      if continueAt != nil, output ?? "-" == "-" {
        throw CommandFailure(.usage, "-C - continues a file: name it with -o FILE, or -O.")
      }
      return output
    }
    guard output == nil else { throw CommandFailure(.usage, "-o and -O: leave one of them out.") }
    let path = (request.head.path ?? "").prefix { $0 != "?" }
    guard let name = path.split(separator: "/", omittingEmptySubsequences: false).last, !["", ".", ".."].contains(name)
    else {
      throw CommandFailure(.usage, "-O: the URL does not end in a file name. Give one with -o FILE.")
    }
    return "./\(name)"
  }
}
