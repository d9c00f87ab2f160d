import BywayLibC
import BywayPrimitives

/// The user that runs this process, and the folders that the defaults and tokens of ssh_config depend on.
struct LocalAccount: Sendable {
  /// The home folder, without a trailing slash.
  var home: String
  var user: String
  var id: uid_t
  var machine: String
  var variables: @Sendable (String) -> String?
  /// The folder of the system-wide files.
  var systemFolder = "/etc/ssh"

  /// Takes the home folder from the password database as ssh does, not from `HOME`.
  static func current() -> LocalAccount {
    let id = getuid()
    let entry = passwordEntry(of: id)
    return LocalAccount(
      home: entry?.home ?? Environment["HOME"] ?? "/", user: entry?.user ?? Environment["USER"] ?? "\(id)", id: id,
      machine: machineName(), variables: { Environment[$0] })
  }

  /// Expands `~/…` to the home folder. The home folders of other users (`~name`) are not expanded.
  func expandingHome(_ path: String) -> String {
    path == "~" || path.hasPrefix("~/") ? home + path.dropFirst() : path
  }

  private static func passwordEntry(of id: uid_t) -> (home: String, user: String)? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var names = [CChar](repeating: 0, count: 16 << 10)
    guard getpwuid_r(id, &entry, &names, names.count, &found) == 0, found != nil, let home = entry.pw_dir,
      let user = entry.pw_name
    else { return nil }
    return (String(cString: home), String(cString: user))
  }

  private static func machineName() -> String {
    var name = [CChar](repeating: 0, count: 256)
    gethostname(&name, name.count - 1)
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
