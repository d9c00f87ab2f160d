import BywayLibC
import BywayPrimitives
import Synchronization

/// The sockets that this process was started with, and those of them in use by listeners. Safe on any thread.
final class HeldSockets: Sendable {
  /// The service manager's announcement of the sockets that it passes on (sd_listen_fds(3)).
  enum Announcement: Sendable, Hashable {
    case none
    /// They are for another process, such as a shell that started this one.
    case toAnother(Int32)
    case toUs
  }

  static let ofThisProcess = HeldSockets()

  let announcement: Announcement
  let all: [HeldSocket]
  private let inUse = Mutex<Set<CInt>>([])

  /// Takes the sockets over: removes the announcement from the environment, and sets close-on-exec for the inherited
  /// descriptors, so that no child gets either.
  private convenience init() {
    let process = Environment.take("LISTEN_PID")
    let count = Environment.take("LISTEN_FDS").flatMap { CInt($0) } ?? 0
    let names = Environment.take("LISTEN_FDNAMES")?.split(separator: ":", omittingEmptySubsequences: false) ?? []
    var announced: [CInt: String] = [:]
    let announcement: Announcement
    switch process.flatMap({ pid_t($0) }) {
    case getpid()?:
      announcement = .toUs
      for index in 0..<min(max(count, 0), 1024) {
        announced[3 + index] = names.indices.contains(Int(index)) ? String(names[Int(index)]) : "unknown"
      }
    case let other?: announcement = .toAnother(other)
    case nil: announcement = .none
    }
    self.init(Self.inherited.compactMap { HeldSocket($0, name: announced[$0]) }, announcement)
  }

  init(_ sockets: [HeldSocket], _ announcement: Announcement = .toUs) {
    all = sockets.sorted { $0.descriptor < $1.descriptor }
    self.announcement = announcement
  }

  /// Returns all sockets of a name, of which a unit may have several, or the one with a number.
  func sockets(named name: String) -> [HeldSocket] {
    if let number = CInt(name) { return all.filter { $0.descriptor == number } }
    return all.filter { $0.name == name }
  }

  /// - Returns: `false` if one of them is already in use.
  func take(_ sockets: [HeldSocket]) -> Bool {
    let descriptors = Set(sockets.map(\.descriptor))
    return inUse.withLock { inUse in
      guard inUse.isDisjoint(with: descriptors) else { return false }
      inUse.formUnion(descriptors)
      return true
    }
  }

  func release(_ sockets: [HeldSocket]) {
    inUse.withLock { $0.subtract(sockets.map(\.descriptor)) }
  }

  /// The descriptors inherited through exec. They lack close-on-exec, which all descriptors opened by this process have.
  private static var inherited: [CInt] {
    ((try? Folder.names(in: "/proc/self/fd")) ?? []).compactMap { CInt($0) }.filter { descriptor in
      let flags = fcntl(descriptor, F_GETFD)
      return descriptor > 2 && flags >= 0 && flags & FD_CLOEXEC == 0
    }
  }
}
