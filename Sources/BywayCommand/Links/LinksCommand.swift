import ArgumentParser
import Byway
import BywayTerminal
import NIOCore

/// `byway links`
struct LinksCommand: AsyncParsableCommand {
  /// Made once, because the parser reads the configuration of all commands many times.
  static let configuration = CommandConfiguration(
    commandName: "links",
    abstract: "Lists the links that have been given a name.",
    discussion: """
      Names are lines of "name = address" in ~/.config/byway/links and /etc/byway/links, and stand for the address after \
      --link and in BYWAY_LINK. Each line has the name, the address, and what is known about the link without opening it.

      Addresses have these forms:

      \(CommandContext.transports.formList)
      """)

  @Flag(help: "Open each link, and show how long a round trip takes or why it fails.")
  var ping = false

  @Option(help: ArgumentHelp("Show the options of addresses with this scheme instead.", valueName: "scheme"))
  var options: String?

  func run() async throws {
    let transports = CommandContext.transports
    if let options { return try StandardStream.output.write(TextColumns.lines(transports.optionRows(of: options))) }
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

extension TransportRegistry {
  /// A line for each form of an address, all of which are ASCII.
  fileprivate var formList: String {
    let width = forms.map(\.pattern.utf8.count).max() ?? 0
    return forms.map { form in
      "  \(form.pattern)\(String(repeating: " ", count: width - form.pattern.utf8.count))  \(form.meaning)"
    }.joined(separator: "\n")
  }

  /// Returns a row for each option of a scheme, with those of every link last.
  /// - Throws: ``BywayError`` with code `unknownScheme`, which suggests the most similar scheme.
  fileprivate func optionRows(of scheme: String) throws -> [[String]] {
    try options(of: scheme.last == ":" ? String(scheme.dropLast()) : scheme).map { [$0.name, $0.help] }
  }
}
