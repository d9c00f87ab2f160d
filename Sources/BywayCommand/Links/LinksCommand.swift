import ArgumentParser
import Byway
import NIOCore

/// `byway links`
struct LinksCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "links",
    abstract: "Lists the links that have been given a name.",
    discussion: """
      Names are lines of "name = address" in ~/.config/byway/links and /etc/byway/links, and stand for the address after \
      --link and in BYWAY_LINK. Each line has the name, the address, and what is known about the link without opening it.
      """)

  @Flag(help: "Open each link, and show how long a round trip takes or why it fails.")
  var ping = false

  func run() async throws {
    let transports = CommandContext.transports
    let namedLinks = try NamedLinks()
    let probe = LinkProbe(namedLinks: namedLinks, transports: transports)
    let states = ping ? await probe.pings() : try probe.glances()
    let rows = namedLinks.entries.map { [$0.name, $0.address, states[$0.name] ?? ""] }
    try StandardStream.output.write(TextColumns.lines(rows))
    if rows.isEmpty {
      StandardStream.error.writeLine(
        "byway: No link has a name. Write printer = unix:/run/byway.sock, for example, into ~/.config/byway/links.")
    }
  }
}
