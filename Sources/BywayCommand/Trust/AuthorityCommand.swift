import ArgumentParser
import BywayTLSInterception
import BywayTerminal
import NIOSSL

/// `byway trust authority`
struct AuthorityCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "authority",
    abstract: "Makes the local authority that byway proxy --inspect-tls needs.",
    discussion: """
      Anyone who has its key can pass for any server to the programs that trust it. The key stays in \
      $XDG_CONFIG_HOME/byway/authority; give the certificate only to programs whose https you want to read, and take it \
      away from them when you are done.
      """,
    subcommands: [Create.self, Show.self, Remove.self])

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "create", abstract: "Makes one, and prints its certificate.")

    func run() throws {
      try StandardStream.output.write(AuthorityStore().create().certificatePEM)
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Prints its certificate.")

    func run() throws {
      let authority = try AuthorityStore().load()
      let certificate = try NIOSSLCertificate(bytes: Array(authority.certificatePEM.utf8), format: .pem)
      let facts = try CertificateFacts(certificate)
      StandardStream.error.writeLine("SHA-256 \(facts.fingerprintText), until \(TrustText.date(facts.expiry))")
      try StandardStream.output.write(authority.certificatePEM)
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove", abstract: "Deletes its key and certificate.")

    func run() throws {
      try AuthorityStore().remove()
      StandardStream.error.writeLine(
        "A proxy that runs with --inspect-tls keeps the key until it is stopped, and refuses a reload with that option."
      )
    }
  }
}
