import ArgumentParser
import Byway
import BywayLibC
import BywayPrimitives
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
      for example in ConfigurationExample.all { try write(example.text, to: "\(folder)/\(example.fileName)") }
      return
    }
    for page in Manual.pages() {
      let section = "\(folder)/man\(page.section)"
      mkdir(section, 0o755)
      try write(page.text, to: "\(section)/\(page.fileName)")
    }
  }

  private func write(_ text: String, to path: String) throws(CommandFailure) {
    do {
      let descriptor = try SharedPlace.open(path, O_WRONLY | O_TRUNC, mode: 0o666)
      defer { close(descriptor) }
      try Descriptor.write(ByteBuffer(string: text), to: descriptor)
    } catch {
      throw CommandFailure(.cannotCreate, "Cannot write \(path): \(error).")
    }
  }
}
