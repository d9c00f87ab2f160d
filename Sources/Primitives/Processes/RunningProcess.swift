/// A process of this machine, as far as this user may see it (proc(5)).
package struct RunningProcess: Sendable, Hashable {
  package let id: Int32
  /// `nil` where the process is gone or not ours to see.
  package let name: String?

  package init(_ id: Int32) {
    self.id = id
    name = KernelFile.lines(of: "/proc/\(id)/comm").first.map { String($0).visible }
  }

  /// The numbers of all.
  package static var all: [Int32] {
    ((try? Folder.names(in: "/proc")) ?? []).compactMap { Int32($0) }
  }

  /// It is there and has not ended; one that has ended stays until its parent has asked what became of it.
  package static func isRunning(_ id: Int32) -> Bool {
    // The name before the state may have anything in it, and ends with the last parenthesis.
    let state = KernelFile.lines(of: "/proc/\(id)/stat").last?.split(separator: ")").last?.first { $0 != " " }
    return state.map { !"ZX".contains($0) } ?? false
  }

  /// The paths of what a process has open.
  package static func openFiles(of id: Int32) -> [String] {
    let folder = "/proc/\(id)/fd"
    return ((try? Folder.names(in: folder)) ?? []).map { "\(folder)/\($0)" }
  }

  /// The inodes of the sockets that a process has open.
  package static func sockets(of id: Int32) -> Set<String> {
    Set(
      openFiles(of: id).compactMap { try? SymbolicLink.target(of: $0) }.filter { $0.hasPrefix("socket:[") }.map {
        String($0.dropFirst(8).dropLast())
      })
  }
}

extension RunningProcess: CustomStringConvertible {
  /// "process 4711 (byway)"
  package var description: String { "process \(id)" + (name.map { " (\($0))" } ?? "") }
}
