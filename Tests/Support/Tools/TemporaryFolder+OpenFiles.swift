import BywayPrimitives
import Foundation

extension TemporaryFolder {
  /// Returns this process's descriptors of files, pipes and Unix sockets in the folder.
  package func openDescriptors() throws -> [Int32] { try open().map(\.descriptor).sorted() }

  /// Returns the paths of files, pipes and Unix sockets in the folder that this process has open, once per descriptor.
  package func openFiles() throws -> [String] { try open().map(\.path).sorted() }

  private func open() throws -> [(descriptor: Int32, path: String)] {
    let sockets = try Self.unixSockets()
    return try Folder.names(in: "/proc/self/fd").compactMap { name in
      guard let descriptor = Int32(name),
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
      else { return nil }
      let path = sockets[target] ?? target
      return path.hasPrefix("\(self.path)/") ? (descriptor, path) : nil
    }
  }

  /// Returns the paths of bound sockets and of their accepted connections, keyed by their names in `/proc/self/fd`.
  private static func unixSockets() throws -> [String: String] {
    // Num RefCount Protocol Flags Type St Inode Path
    let lines = try String(contentsOfFile: "/proc/net/unix", encoding: .utf8).split(separator: "\n").dropFirst()
    return Dictionary(
      lines.compactMap { line in
        let columns = line.split(separator: " ", maxSplits: 7)
        return columns.count == 8 ? ("socket:[\(columns[6])]", String(columns[7])) : nil
      }
    ) { first, _ in first }
  }
}
