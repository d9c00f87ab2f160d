import ArgumentParser
import Byway
import Glibc
import NIOCore
import Primitives

/// `byway manual`, for those who package it.
struct ManualCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manual",
    abstract: "Writes the manual pages of this program into a folder, below man1 and man5.",
    shouldDisplay: false)

  @Argument(help: ArgumentHelp("For example /usr/local/share/man.", valueName: "folder"), completion: .directory)
  var folder: String

  init() {}

  func run() throws {
    for page in Manual.pages() {
      let section = "\(folder)/man\(page.section)"
      mkdir(folder, 0o755)
      mkdir(section, 0o755)
      let path = "\(section)/\(page.fileName)"
      do {
        let descriptor = try Descriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC)
        defer { close(descriptor) }
        try Descriptor.write(ByteBuffer(string: page.text), to: descriptor)
      } catch {
        throw CommandFailure(.cannotCreate, "Cannot write \(path): \(error).")
      }
    }
  }
}
