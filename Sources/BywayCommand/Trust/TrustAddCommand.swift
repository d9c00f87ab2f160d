import ArgumentParser
import Byway
import BywayTLS
import BywayTerminal

extension TrustCommand {
  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add",
      abstract: "Trusts a host's own certificate, that of its authority, or its key.",
      discussion: """
        With --link and no file it fetches the certificate that the host shows through that link, whose gateway must allow it, \
        and asks whether to trust it: compare the fingerprint with what the device itself says.
        """)

    @Argument(help: "The host as in URLs, without a port; with --link a port may follow, to connect to that.")
    var host: String

    @Argument(
      help: .value("file", "A PEM file, or sha256//BASE64 of the key."),
      completion: .file(extensions: ["pem", "crt", "cer"]))
    var file: String?

    @Option(help: .value("link", "Fetch the certificate through this link."), completion: .links)
    var link: String?

    @Flag(help: "Do not ask. If someone intercepts the connection now, you will trust them.")
    var yes = false

    func run() async throws {
      let store = try TrustStore()
      switch (file, link) {
      case (let file?, nil):
        for entry in try store.add(file, for: host) { try StandardStream.output.write(TrustText.block(entry)) }
      case (nil, let link?): try await fetch(through: link, into: store)
      case (nil, nil):
        throw CommandFailure(
          .usage, "Nothing to trust is given: name a PEM file, or add --link to fetch the certificate.")
      case (_?, _?):
        throw CommandFailure(.usage, "A certificate comes from a file or through --link: leave one of them out.")
      }
    }

    private func fetch(through text: String, into store: TrustStore) async throws {
      guard let place = LinkAddress.HostPort(host) ?? LinkAddress.HostPort("[\(host)]") else {
        throw CommandFailure(
          .usage, "\"\(host)\" is not a host: write its name or address, and :PORT where it is not 443.")
      }
      let link = try CommandContext.transports.link(named: text)
      let certificate = try await CertificateProbe.fetch(from: place.host, port: place.port ?? 443, over: link)
      let facts = try CertificateFacts(certificate)
      StandardStream.error.writeText(TrustText.block(of: facts, for: place.host))
      guard try yes || Confirmation.ask("Trust this certificate for \(place.host)?") else {
        throw CommandFailure(.usage, "Nothing was added.")
      }
      let entry = try store.add(facts, for: place.host)
      StandardStream.error.writeLine("Added for \(entry.host): \(entry.name)")
    }
  }
}
