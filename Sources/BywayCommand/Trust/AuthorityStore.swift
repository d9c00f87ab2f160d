import Byway
import BywayLibC
import BywayPrimitives
import BywayTLSInterception
import BywayTerminal

/// The user's local authority: a public certificate, and a key that only the user may read.
struct AuthorityStore: Sendable {
  private static let certificate = "certificate.pem"
  private static let key = "key.pem"

  private let folder: ConfigurationFolder

  init() throws(CommandFailure) {
    folder = try ConfigurationFolder("authority")
  }

  /// The name of an authority that is made on this machine.
  static var usualName: String {
    var host = [CChar](repeating: 0, count: 256)
    gethostname(&host, host.count - 1)
    let name = String(decoding: host.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    return "Byway on \(name.prefix(40))"
  }

  /// - Throws: ``CommandFailure`` if there is one already.
  func create() throws -> LocalAuthority {
    guard try folder.file(Self.key) == nil else {
      throw CommandFailure(
        .usage, "A local authority already exists: byway trust authority show prints it, and remove deletes it.")
    }
    let authority = try LocalAuthority(name: Self.usualName)
    // A second process finds the key and stops, so that key and certificate always belong together.
    try folder.write(authority.keyPEM, to: Self.key, replacing: false)
    try folder.write(authority.certificatePEM, to: Self.certificate)
    return authority
  }

  /// - Throws: ``CommandFailure`` if there is none, or others can read its key.
  func load() throws -> LocalAuthority {
    guard let key = try folder.file(Self.key), let certificate = try folder.text(Self.certificate) else {
      throw CommandFailure(.noInput, "There is no local authority: byway trust authority create makes one.")
    }
    guard FileExposure(key.status, for: .owner) == nil else {
      throw CommandFailure(
        .noInput,
        "Others can read \(key.path), and with it pass for any server: remove the authority, from your programs too, and "
          + "make another.")
    }
    return try LocalAuthority(certificatePEM: certificate, keyPEM: String(buffer: key.readAll()))
  }

  func remove() throws {
    guard try folder.file(Self.key) != nil else { throw CommandFailure(.usage, "There is no local authority.") }
    for name in [Self.certificate, Self.key] { try folder.remove(name) }
    folder.removeIfEmpty()
  }
}
