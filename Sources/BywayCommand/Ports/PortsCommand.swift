import ArgumentParser
import Byway

/// `byway ports`
struct PortsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ports",
    abstract: "Lists the ports of this machine that a link can lead to.",
    discussion: """
      One on a line: the address to use after --link, the device it is now, what the adapter calls itself, and why it \
      cannot be opened now, where that is so.
      """)

  @Flag(help: "Write a JSON array of objects instead.")
  var json = false

  init() {}

  func run() throws {
    let table = PortTable(try CommandContext.transports.ports())
    try StandardStream.output.write(json ? table.json : table.text)
    if table.isEmpty {
      StandardStream.error.writeLine(
        "byway: There are no ports here. Plug the adapter in; \"dmesg\" tells whether the system has seen it.")
    }
  }
}
