import Byway
import BywayDevices
import BywayLibC
package import BywayTerminal
import NIOCore

/// The division of the files that a daemon may have open.
package struct DescriptorBudget: Equatable {
  /// Connections of clients.
  package let accepted: Int
  /// Devices that dial a hub, with one connection each.
  package let dialing: Int
  /// The rest, for connections that the clients' requests need.
  package let opened: Int

  /// The number of accepted connections if the user asks for none and all of them fit.
  private static let usual = 1024
  /// Files for event loops, links and logs, and files that are served or stored.
  static let reserve = 32 + 4 * System.coreCount

  /// Raises the process's limit as far as necessary and as the system allows. Few accepted connections may also carry many requests.
  /// - Parameters:
  ///   - asked: The number of connections that the user wants to accept.
  ///   - dialing: The number of devices that may dial; `nil` for the usual number.
  /// - Throws: ``CommandFailure`` if those do not fit.
  package init(accepting asked: Int?, dialing: Int? = 0) throws {
    let devices = dialing ?? DeviceDirectory.usualDialed
    try self.init(
      accepting: asked, dialing: dialing,
      within: Self.raise(to: Self.need(for: max(asked ?? 0, Self.usual), besides: devices)))
  }

  /// Checks that a number of connections is at least one.
  package static func check(_ asked: Int?) throws(CommandFailure) {
    guard let asked, asked < 1 else { return }
    throw CommandFailure(.usage, "--max-connections is \(asked): allow at least one.")
  }

  /// - Parameter asked: The number of dialing devices that the user wants to allow.
  package static func check(devices asked: Int?) throws(CommandFailure) {
    guard let asked, asked < 1 else { return }
    throw CommandFailure(.usage, "--max-devices is \(asked): allow at least one.")
  }

  /// - Parameter limit: The limit of open files.
  init(accepting asked: Int?, dialing devices: Int? = 0, within limit: Int) throws {
    try Self.check(asked)
    let free = max(2, limit - Self.reserve)
    dialing = devices ?? min(DeviceDirectory.usualDialed, free / 2)
    guard dialing <= free - 2 else {
      throw CommandFailure(
        .usage,
        "--max-devices \(dialing) needs \(Self.need(for: 1, besides: dialing)) open files, and \(limit) are allowed: raise "
          + "that limit (ulimit -n, or LimitNOFILE= of systemd), or allow \(free / 2) devices.")
    }
    let fitting = max(1, (free - dialing) / 2)
    if let asked, asked > fitting {
      throw CommandFailure(
        .usage,
        "--max-connections \(asked) needs \(Self.need(for: asked, besides: dialing)) open files, and \(limit) are allowed: "
          + "raise that limit (ulimit -n, or LimitNOFILE= of systemd), or allow \(fitting) connections.")
    }
    accepted = asked ?? min(Self.usual, fitting)
    opened = max(1, limit - Self.reserve - dialing - accepted)
  }

  /// Returns the number of files for each connection, one more for what a request on it opens, and each device.
  private static func need(for connections: Int, besides devices: Int) -> Int {
    reserve + 2 * max(0, min(connections, 1 << 30)) + max(0, min(devices, 1 << 30))
  }

  /// - Returns: The resulting limit.
  private static func raise(to wanted: Int) -> Int {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return usual }
    if limit.rlim_cur < wanted, limit.rlim_cur < limit.rlim_max {
      var raised = limit
      raised.rlim_cur = min(limit.rlim_max, rlim_t(wanted))
      if setrlimit(resource, &raised) == 0 { limit = raised }
    }
    return Int(clamping: limit.rlim_cur)
  }
}
