/// A process of this machine, as far as this user can see it (proc(5)).
package struct RunningProcess: Sendable, Hashable {
  package let id: Int32
  /// `nil` if the process is gone, or not visible to this user.
  package let name: String?

  package init(_ id: Int32) {
    self.id = id
    name = KernelFile.lines(of: "/proc/\(id)/comm").first.map { String($0).visible }
  }

  /// The ids of all processes.
  package static var all: [Int32] {
    ((try? Folder.names(in: "/proc")) ?? []).compactMap { Int32($0) }
  }

  /// Whether a process exists and has not ended. One that has ended remains until its parent has collected its status.
  package static func isRunning(_ id: Int32) -> Bool {
    // The name before the state may contain any character, and ends at the last parenthesis.
    let state = KernelFile.lines(of: "/proc/\(id)/stat").last?.split(separator: ")").last?.first { $0 != " " }
    return state.map { !"ZX".contains($0) } ?? false
  }

  /// Returns the paths of the files that a process has open.
  package static func openFiles(of id: Int32) -> [String] {
    let folder = "/proc/\(id)/fd"
    return ((try? Folder.names(in: folder)) ?? []).map { "\(folder)/\($0)" }
  }

  /// Returns the inodes of the sockets that a process has open.
  package static func sockets(of id: Int32) -> Set<String> {
    Set(
      openFiles(of: id).compactMap { try? SymbolicLink.target(of: $0) }.filter { $0.hasPrefix("socket:[") }.map {
        String($0.dropFirst(8).dropLast())
      })
  }
}

extension RunningProcess: CustomStringConvertible {
  /// The text for messages: "process 4711 (byway)".
  package var description: String { "process \(id)" + (name.map { " (\($0))" } ?? "") }
}
