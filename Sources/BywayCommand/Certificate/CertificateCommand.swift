import ArgumentParser
import Byway
import BywayTLSInterception
import BywayTerminal

/// `byway certificate`
struct CertificateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "certificate",
    abstract: "Makes a private certificate authority, and certificates of devices and users.",
    discussion: """
      Each is two files in PEM: NAME.pem may be given to anyone, NAME.key stays with its holder. The authority is ca.pem and \
      ca.key. All keys are for P-256. Existing files are not overwritten without --force.
      """,
    subcommands: [Authority.self, Device.self, User.self])

  struct Authority: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "authority", abstract: "Makes an authority: ca.pem and ca.key.",
      discussion: """
        Anyone who has ca.key can pass for any device and any user. Keep it on one machine, and give only ca.pem to others. A \
        new authority makes all certificates of the old one useless.
        """)

    @Argument(help: "The name that programs show. (default: Byway on HOST)")
    var name: String?

    @Option(help: .value("number", "How many days it is valid."))
    var days = 3650

    @OptionGroup var files: CertificateFileOptions

    func run() throws {
      let name = name ?? AuthorityStore.usualName
      guard (1...64).contains(name.unicodeScalars.count), !name.unicodeScalars.contains(where: { $0.value < 0x20 })
      else {
        throw CommandFailure(.usage, "The name of an authority has 1 to 64 visible characters.")
      }
      let authority = try LocalAuthority(name: name, days: try files.checked(days))
      let pair = files.authority
      try pair.write(certificate: authority.certificatePEM, key: authority.keyPEM, replacing: files.force)
      try StandardStream.output.write(CertificateText.authority(name, pair, until: authority.expiry, files))
    }
  }

  struct Device: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "device", abstract: "Makes the certificate of a device, a hub or another server.",
      discussion: """
        It is valid for NAME and, if that is a single word, for NAME.localhost. A gateway shows it when it listens, and to a hub \
        when it dials.
        """)

    @Argument(help: "The name of the device, or the host name or IP address that its clients connect to.")
    var name: String

    @Option(help: .value("name", "A further DNS name, such as hub.example or *.devices.example. May be repeated."))
    var dns: [String] = []

    @Option(help: .value("address", "An IP address that clients connect to. May be repeated."))
    var address: [String] = []

    @Option(help: .value("number", "How many days it is valid. Apple's systems accept at most 825."))
    var days = 825

    @OptionGroup var files: CertificateFileOptions

    func run() throws {
      let names = try CertificateNames(name, dns: dns, addresses: address)
      let pair = try files.pair(names.file)
      let issued = try files.issue(to: .device(names.hosts), named: name, days: days)
      try pair.write(certificate: issued.certificatePEM, key: issued.keyPEM, replacing: files.force)
      try StandardStream.output.write(CertificateText.device(names, pair, until: issued.expiry, files))
    }
  }

  struct User: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "user", abstract: "Makes the certificate with which a user logs in.",
      discussion:
        "NAME is the name in the file of --rights. If it is an e-mail address, the certificate has it as such.")

    @Argument(help: "The name of the user.")
    var name: String

    @Option(help: .value("number", "How many days it is valid."))
    var days = 398

    @OptionGroup var files: CertificateFileOptions

    func run() throws {
      guard let user = UserName(name) else {
        throw CommandFailure(.usage, "\"\(name)\" is not a user's name: it has \(UserName.rule).")
      }
      // A longer name has room only as an e-mail address, which is ASCII.
      guard user.text.unicodeScalars.count <= 64 || user.text.contains("@") && user.text.utf8.allSatisfy({ $0 < 0x80 })
      else {
        throw CommandFailure(.usage, "\"\(name)\" has more than 64 characters, which a certificate cannot have.")
      }
      let pair = try files.pair(user.text)
      let issued = try files.issue(to: .user, named: user.text, days: days)
      try pair.write(certificate: issued.certificatePEM, key: issued.keyPEM, replacing: files.force)
      try StandardStream.output.write(CertificateText.user(user.text, pair, until: issued.expiry, files))
    }
  }
}
