import ArgumentParser
import Byway
import BywayTerminal

/// `byway trust`
struct TrustCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trust",
    abstract: "Manages the certificates that are trusted for individual hosts.",
    discussion: """
      They are used by byway request and by gateways of the same user, and apply to their host only, instead of the \
      system's authorities. They are kept in $XDG_CONFIG_HOME/byway/trust.
      """,
    subcommands: [Add.self, List.self, Remove.self, AuthorityCommand.self])

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Shows what is trusted for which host, and until when.")

    func run() throws {
      let entries = try TrustStore().entries()
      if entries.isEmpty {
        StandardStream.error.writeLine("No certificates were added: only the authorities of this machine are trusted.")
      }
      for entry in entries { try StandardStream.output.write(TrustText.block(entry)) }
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove", abstract: "Stops trusting what was added for a host.")

    @Argument(help: "The host as it was added.")
    var host: String

    @Argument(help: "SHA-256 of one certificate, or one pin; everything for that host if not given.")
    var fingerprint: String?

    func run() throws {
      let removed = try TrustStore().remove(fingerprint, for: host)
      guard !removed.isEmpty else {
        throw CommandFailure(.usage, "Nothing like that is trusted for \(host): byway trust list shows what is.")
      }
      for entry in removed { StandardStream.error.writeLine("Removed for \(entry.host): \(entry.name)") }
    }
  }
}
