import Byway
import BywayInspection
import Glibc

/// The user's local authority: a certificate that may be shown to everybody, and a key that nobody else may read.
struct AuthorityStore: Sendable {
  private let folder: ConfigurationFolder

  private var certificatePath: String { folder.path + "/certificate.pem" }
  private var keyPath: String { folder.path + "/key.pem" }

  init() throws(CommandFailure) {
    folder = try ConfigurationFolder("authority")
  }

  /// - Throws: ``CommandFailure`` where there is one already.
  func create() throws -> LocalAuthority {
    guard access(keyPath, F_OK) != 0 else {
      throw CommandFailure(
        .usage, "There is a local authority already: byway trust authority show prints it, remove removes it.")
    }
    var host = [CChar](repeating: 0, count: 256)
    gethostname(&host, host.count - 1)
    let name = String(decoding: host.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    let authority = try LocalAuthority(name: "Byway on \(name.prefix(40))")
    // Whoever comes second finds the key and stops, so that the two always belong together.
    try folder.write(authority.keyPEM, to: "key.pem", replacing: false)
    try folder.write(authority.certificatePEM, to: "certificate.pem")
    return authority
  }

  /// - Throws: ``CommandFailure`` where there is none, or others can read its key.
  func load() throws -> LocalAuthority {
    var status = stat()
    guard stat(keyPath, &status) == 0 else {
      throw CommandFailure(.noInput, "There is no local authority: byway trust authority create makes one.")
    }
    guard status.st_mode & 0o077 == 0, status.st_uid == geteuid() else {
      throw CommandFailure(
        .noInput,
        "Others can read \(keyPath), and with it pass for any server: remove the authority, from your programs too, and "
          + "make another.")
    }
    return try LocalAuthority(certificatePEM: TextFile.read(certificatePath), keyPEM: TextFile.read(keyPath))
  }

  func remove() throws {
    guard access(keyPath, F_OK) == 0 else { throw CommandFailure(.usage, "There is no local authority.") }
    for path in [certificatePath, keyPath] where unlink(path) != 0 && errno != ENOENT {
      throw CommandFailure(.cannotCreate, "Cannot remove \(path): \(Descriptor.Failure(code: errno)).")
    }
    folder.removeIfEmpty()
  }
}
