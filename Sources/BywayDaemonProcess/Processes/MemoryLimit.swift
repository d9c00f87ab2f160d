import Byway
import BywayLibC
import BywayPrimitives

/// The limit of the memory that a daemon holds on behalf of its peers.
package enum MemoryLimit {
  /// The smallest limit that makes sense, in bytes: a few connections.
  private static let least = 1 << 20

  /// Returns the mistake in the value of `--memory-budget`, in bytes; `nil` if there is none, or no value.
  package static func mistake(in budget: Int?) -> String? {
    guard let budget, budget < least else { return nil }
    return "--memory-budget is \(budget) bytes: allow at least 1M."
  }

  /// Sets the budget of this process.
  /// - Parameter asked: The user's limit in bytes; `nil` for the usual one, or less if the system gives the process little memory.
  package static func apply(_ asked: Int?) {
    MemoryBudget.shared.limit = asked ?? fitting(within: [group, resource].compactMap(\.self).min())
  }

  /// Returns the usual limit, but at most a quarter of the process's memory.
  static func fitting(within memory: Int?) -> Int {
    min(MemoryBudget.usual, max(least, (memory ?? .max) / 4))
  }

  /// The lowest limit of the control group and those around it (cgroups(7), version 2).
  private static var group: Int? {
    let line = KernelFile.lines(of: "/proc/self/cgroup").first { $0.hasPrefix("0::/") }
    guard let line else { return nil }
    return groupFolders(line.dropFirst("0::".count)).compactMap { folder in
      KernelFile.lines(of: "/sys/fs/cgroup\(folder)/memory.max").first.flatMap { Int($0) }
    }.min()
  }

  /// Returns `/a/b`, `/a` and the root for `/a/b`.
  static func groupFolders(_ path: Substring) -> [String] {
    let names = path.split(separator: "/")
    return (0...names.count).reversed().map { names.prefix($0).map { "/\($0)" }.joined() }
  }

  private static var resource: Int? {
    [RLIMIT_AS, RLIMIT_DATA].compactMap { kind in
      var limit = rlimit()
      guard getrlimit(__rlimit_resource_t(kind.rawValue), &limit) == 0, limit.rlim_cur < rlim_t(Int64.max) else {
        return nil
      }
      return Int(limit.rlim_cur)
    }.min()
  }
}
