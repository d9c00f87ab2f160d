import Glibc
import Primitives

/// Who runs this process, and where the files are: what ssh_config's defaults and tokens depend on.
struct LocalAccount: Sendable {
  /// Without a slash at the end.
  var home: String
  var user: String
  var id: uid_t
  var machine: String
  var variables: @Sendable (String) -> String?
  /// Where the files for everybody are.
  var systemFolder = "/etc/ssh"

  /// As ssh does, the home folder is the one that the system knows, whatever `HOME` says.
  static func current() -> LocalAccount {
    let id = getuid()
    let entry = passwordEntry(of: id)
    return LocalAccount(
      home: entry?.home ?? Environment["HOME"] ?? "/", user: entry?.user ?? Environment["USER"] ?? "\(id)", id: id,
      machine: machineName(), variables: { Environment[$0] })
  }

  /// `~/…` is in the home folder; those of others are left as they are.
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
