import Byway
import BywayDaemon
import BywayLibC

extension Link {
  /// Whether only the user who runs this can send requests to it: a Unix socket that only its owner may write to. Every user of a
  /// machine can reach its TCP ports.
  var isForOneUser: Bool {
    guard address.scheme == "unix" else { return false }
    let mode = address[option: "mode"].map { mode_t($0, radix: 8) } ?? Self.modeByDefault
    return mode.map { $0 & 0o022 == 0 } ?? false
  }

  /// The permissions that the umask leaves a socket; `nil` if they are unknown.
  private static var modeByDefault: mode_t? {
    // The umask itself can be read only by changing it.
    guard let status = try? TextFile.read("/proc/self/status"),
      let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Umask:") }),
      let mask = mode_t(line.dropFirst(6).drop { $0 == "\t" || $0 == " " }, radix: 8)
    else { return nil }
    return 0o777 & ~mask
  }
}
