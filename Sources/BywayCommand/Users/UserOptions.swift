import ArgumentParser
import Byway
import BywayGatewayProgram
import BywayPrimitives
import BywayProxy
import BywayTerminal

/// The rights of users to a proxy's devices, and the ways in which users are identified.
struct UserOptions: ParsableArguments {
  @Option(
    help: .value(
      "file",
      "Which user may use which devices: lines such as \"alice = printer board-*\". Users are identified by the certificates "
        + "that the ca= of --listen asks for, by --users or by --user-header."),
    completion: .file())
  var rights: String?

  @Option(
    help: .value(
      "file",
      "Users log in with the passwords of this file, as htpasswd -B writes it. Needs TLS, 127.0.0.1 or a Unix socket."),
    completion: .file())
  var users: String?

  @Option(
    help: .value("field", "A reverse proxy names the user in this field. Needs --listen on a Unix socket."))
  var userHeader: String?

  @Option(
    help: .value(
      "file", "Write to this file when a user begins or ends to use a device, or is refused. SIGUSR1 opens it again."),
    completion: .file())
  var auditLog: String?

  /// - Throws: ``CommandFailure`` or ``BywayError``.
  func check() throws {
    if let userHeader { _ = try OptionValue.of("--user-header") { try UserHeader(userHeader) } }
  }

  var checks: [OptionCheck] { OptionCheck.writing(file: auditLog, "--audit-log") }

  /// Returns the link with the option that admits clients without certificates, if users log in with passwords.
  func listen(on link: Link, in transports: TransportRegistry) throws -> Link {
    let option = "clients"
    let isSaid = link.address[option: option] != nil
    guard users != nil else {
      if isSaid {
        throw CommandFailure(
          .usage, "--listen with clients=any lets in anyone who reaches it: add --users, or leave clients=any out.")
      }
      return link
    }
    // Clients without a certificate log in.
    guard link.transport.isEncrypted(link.address), !isSaid else { return link }
    return try transports.link(link.address.adding(.init(name: option, value: "any")))
  }

  /// Checks that hubs require certificates. A device's name comes from its certificate; without one it could claim any name.
  /// - Throws: ``CommandFailure`` if a hub admits clients without certificates.
  static func check(hubs: [Link]) throws(CommandFailure) {
    guard let hub = hubs.first(where: { $0.address[option: "clients"] != nil }) else { return }
    throw CommandFailure(
      .usage, "--hub \(hub.address): clients= is for users, and gateways need certificates: leave it out.")
  }

  /// - Parameter link: The link on which clients connect.
  /// - Returns: `nil` if users are not identified.
  /// - Throws: ``CommandFailure`` or ``BywayError`` if the options do not belong together, or a file is invalid.
  func rules(at link: Link) throws -> UserRules? {
    let hasCertificates = link.transport.isEncrypted(link.address) && link.address[option: "ca"] != nil
    guard let rights else {
      for (option, value) in [("--users", users), ("--user-header", userHeader), ("--audit-log", auditLog)]
      where value != nil {
        throw CommandFailure(
          .usage,
          "\(option) needs --rights FILE, which says what users may use: \"* = *\" in it is everything for all of them."
        )
      }
      return nil
    }
    guard users != nil || userHeader != nil || hasCertificates else {
      throw CommandFailure(
        .usage,
        "--rights needs a way to identify users: add --users FILE, or listen on https://HOST:PORT?cert=FILE&key=FILE&ca=FILE "
          + "for certificates, or on unix:PATH with --user-header FIELD.")
    }
    if userHeader != nil, link.address.scheme != "unix" {
      throw CommandFailure(
        .usage,
        "--user-header is accepted on a Unix socket only, because on \(link.address) anyone could send it: "
          + "--listen unix:PATH, and let the reverse proxy connect there.")
    }
    if users != nil, !Self.keepsPasswords(link) {
      throw CommandFailure(
        .usage,
        "--users: passwords to \(link.address) could be read on the way: --listen https://HOST:PORT?cert=FILE&key=FILE, "
          + "127.0.0.1 or unix:PATH.")
    }
    return UserRules(
      try Rights(Self.read(rights, "--rights"), named: rights),
      passwords: try users.map { try PasswordFile(Self.read($0, "--users", isSecret: true), named: $0) },
      header: try userHeader.map { try UserHeader($0) }, certified: CertificateUser.name)
  }

  /// Whether passwords stay secret on the link, as far as its address shows. For an inherited socket, each connection shows it.
  private static func keepsPasswords(_ link: Link) -> Bool {
    if link.transport.isEncrypted(link.address) || ["unix", "fd"].contains(link.address.scheme) { return true }
    guard link.address.scheme == "tcp", let host = try? link.address.hostPort().host else { return false }
    return host.lowercased() == "localhost" || host.hasPrefix("127.") || ["::1", "[::1]"].contains(host)
  }

  private static func read(_ path: String, _ option: String, isSecret: Bool = false) throws -> String {
    try OptionValue.of(option) {
      let file: SmallFile
      do throws(SmallFile.Failure) { file = try SmallFile(path, limit: 1 << 20) } catch {
        throw CommandFailure(.noInput, "Cannot read \(path): \(error).")
      }
      if isSecret, let exposure = FileExposure(file.status, for: .group) {
        throw CommandFailure(.noInput, "\(path): \(exposure).")
      }
      guard file.isTrusted else {
        throw CommandFailure(.noInput, "Others can write to \(path): run chmod go-w on it, and check what is in it.")
      }
      guard let text = file.text else { throw CommandFailure(.noInput, "\(path) is not text in UTF-8.") }
      return text
    }
  }
}
