import Glibc
import Primitives
import Synchronization

/// The sockets that this process was started with, and which of them are listened on. Safe on any thread.
final class HeldSockets: Sendable {
  /// What the service manager has said of those that it hands over (sd_listen_fds(3)).
  enum Announcement: Sendable, Hashable {
    case none
    /// To another process: a shell for example, that stands between.
    case toAnother(Int32)
    case toUs
  }

  static let ofThisProcess = HeldSockets()

  let announcement: Announcement
  let all: [HeldSocket]
  private let inUse = Mutex<Set<CInt>>([])

  /// Takes them over: what stood in the environment is no child's business, and what was inherited ends with this process.
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

  /// All of a name, as a unit may have several, or the one of a number.
  func sockets(named name: String) -> [HeldSocket] {
    if let number = CInt(name) { return all.filter { $0.descriptor == number } }
    return all.filter { $0.name == name }
  }

  /// - Returns: `false` where one of them is listened on already.
  func take(_ sockets: [HeldSocket]) -> Bool {
    let descriptors = Set(sockets.map(\.descriptor))
    return inUse.withLock { inUse in
      guard inUse.isDisjoint(with: descriptors) else { return false }
      inUse.formUnion(descriptors)
      return true
    }
  }

  func letGo(_ sockets: [HeldSocket]) {
    inUse.withLock { $0.subtract(sockets.map(\.descriptor)) }
  }

  /// What has come through exec has no close-on-exec; what this process has opened by now, has.
  private static var inherited: [CInt] {
    ((try? Folder.names(in: "/proc/self/fd")) ?? []).compactMap { CInt($0) }.filter { descriptor in
      let flags = fcntl(descriptor, F_GETFD)
      return descriptor > 2 && flags >= 0 && flags & FD_CLOEXEC == 0
    }
  }
}
