import ArgumentParser
import Byway
import BywayTerminal

/// `byway ports`
struct PortsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ports",
    abstract: "Lists the ports of this machine that a link can lead to.",
    discussion: """
      Each line has the address to use after --link, the current device, the adapter's name, and the reason if it \
      cannot be opened now.
      """)

  @Flag(help: "Write a JSON array of objects instead.")
  var json = false

  func run() throws {
    let table = PortTable(try CommandContext.transports.ports())
    try StandardStream.output.write(json ? table.json : table.text)
    if table.isEmpty {
      StandardStream.error.writeLine("byway: \(PortTable.noPorts)")
    }
  }
}
