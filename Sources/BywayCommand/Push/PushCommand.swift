import ArgumentParser
import Byway
import BywayGatewayProgram
import BywayLibC
import BywayPrimitives
import BywayTerminal
import Logging
import NIOCore
import NIOPosix

/// `byway push`
struct PushCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "push",
    abstract: "Copies a program to a machine through its shell.",
    discussion: """
      LINK has login=USER, or shell=COMMAND if a shell answers without a login: serial:/dev/ttyUSB0?login=root. The machine \
      needs nothing but a shell, and base64 or printf. The copy is verified, and a copy that was interrupted continues where it \
      stopped. Without --program, this program itself is copied; boards with other processors take byway-mini.
      """)

  @Argument(
    help: "The link: an address with login=USER or shell=COMMAND, or a name that byway links lists.", completion: .links
  )
  var link: String

  @Option(help: .value("file", "The program to copy. (default: this one)"), completion: .file())
  var program: String?

  @Option(
    help: .value("path", "Where to put it. (default: its name in /usr/local/bin, or in the home folder of the user)"))
  var to: String?

  private static let patience = TimeAmount.seconds(60)

  func run() async throws {
    let link = try OptionValue.of("LINK") { try CommandContext.transports.link(named: self.link) }
    if let to, !to.hasPrefix("/") || to.hasSuffix("/") || to.utf8.count > 500 || !ProgramCopy.isPath(to) {
      throw CommandFailure(
        .usage, "--to \(to) is not the full path of a file: write /usr/local/bin/byway, for example.")
    }
    let path = program ?? "/proc/self/exe"
    let file = try ProgramFile(path)
    PasswordPrompt.ask(for: link)
    let name = program.map { $0.split(separator: "/").last.map(String.init) ?? "byway" } ?? "byway"
    guard ProgramCopy.isPath(name) else {
      throw CommandFailure(.usage, "The name of \(path) has a character that cannot be shown: rename the file.")
    }
    let context = LinkContext(
      group: MultiThreadedEventLoopGroup.singleton,
      logger: Logger(label: "byway.push") { _ in SwiftLogNoOpLogHandler() },
      deadline: .now() + Self.patience)
    let shell = try await RemoteShell.start(on: try await link.openShell(context))
    let progress = ProgressLine(on: .error)
    let copy = ProgramCopy(
      file: file, path: to, name: name, link: link.address.publicName, run: { try await shell.run($0, within: $1) })
    let place: String
    do {
      place = try await copy.copy { Self.show($0, on: progress) }
    } catch {
      progress.clear()
      await shell.end()
      throw error
    }
    await shell.end()
    try StandardStream.output.write("\(place)\n")
  }

  private static func show(_ stage: ProgramCopy.Stage, on progress: ProgressLine) {
    switch stage {
    case .began(let total, let there):
      if there > 0 { StandardStream.error.writeLine("byway: \(there) of \(total) bytes are there already") }
      progress.begin(total: total)
      if isatty(STDERR_FILENO) == 1 { progress.show(received: there, total: total) }
    case .copied(let count):
      if isatty(STDERR_FILENO) == 1 { progress.add(count) }
    case .verified(let method):
      progress.clear()
      StandardStream.error.writeLine("byway: copied, and verified with \(method)")
    }
  }
}
