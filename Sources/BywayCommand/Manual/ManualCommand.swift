import ArgumentParser
import Byway
import BywayLibC
import BywayTerminal
import NIOCore

/// `byway manual`, for packaging.
struct ManualCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manual",
    abstract: "Writes the manual pages of this program into a folder, below man1 and man5; or what its files may say.",
    shouldDisplay: false)

  @Argument(help: .value("folder", "For example /usr/local/share/man."), completion: .directory)
  var folder: String

  @Flag(
    help: "Write gateway.conf and proxy.conf instead: each option as a comment, with what it means and its default.")
  var examples = false

  func run() throws {
    mkdir(folder, 0o755)
    if examples {
      for example in ConfigurationExample.all {
        try WholeFile.write(ByteBuffer(string: example.text), to: "\(folder)/\(example.fileName)")
      }
      return
    }
    for page in Manual.pages() {
      let section = "\(folder)/man\(page.section)"
      mkdir(section, 0o755)
      try WholeFile.write(ByteBuffer(string: page.text), to: "\(section)/\(page.fileName)")
    }
  }
}
