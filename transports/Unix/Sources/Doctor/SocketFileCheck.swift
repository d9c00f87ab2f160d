import Byway
import BywayDoctor
import Glibc
import Primitives

/// Checks that the path is a socket.
struct SocketFileCheck: Check {
  static let title = "socket"

  let address: LinkAddress

  func examine(_ resources: OpenedResources) async throws -> Finding<SocketPath> {
    let path = try SocketPath(address)
    switch path.kind {
    case .socket:
      return .sound("\(path.text) is a socket.", path)
    case .missing where FileKind(of: path.directory) != .directory:
      return .wrong(
        Diagnosis(
          .noFile,
          "There is no directory \(path.directory), so there is no socket in it: start \"byway gateway\", or correct the path."
        ))
    case .missing where path.text.hasPrefix("@") && Self.isAbstract(path.text):
      return .wrong(
        Diagnosis(
          .notASocket,
          "\(path.text) is an abstract socket, which is not a file, and no link leads to one: let its owner listen on a path."
        ))
    case .missing:
      return .wrong(
        Diagnosis(
          .noFile,
          "There is no socket \(path.text): start \"byway gateway\" there, or correct the path.\(Self.hint(for: path))")
      )
    case .directory, .other:
      return .wrong(
        Diagnosis(
          .notASocket, "\(path.text) exists and is not a socket: correct the path of the link, or the gateway's."))
    case .hidden:
      let folder = path.closedFolder
      return .wrong(
        Diagnosis(
          .noPermission, "This user may not look into \(folder), where the socket is: run as a user or group that may.",
          command: "ls -ld \(ShellWord.of(folder))"))
    }
  }

  /// A suggestion: the socket in the same folder with the most similar name.
  private static func hint(for path: SocketPath) -> String {
    let folder = path.directory
    let names = ((try? Folder.names(in: folder)) ?? []).filter { FileKind(of: "\(folder)/\($0)") == .socket }
    let name = String(path.text[(path.text.lastIndex(of: "/").map(path.text.index(after:)) ?? path.text.startIndex)...])
    return Spelling.nearest(to: name, among: names).map { " Did you mean \"\(folder)/\($0)\"?" } ?? ""
  }

  /// Whether an abstract socket has this name. They are listed with an at sign in place of their first byte, which is zero
  /// (unix(7)).
  private static func isAbstract(_ name: String) -> Bool {
    KernelFile.lines(of: "/proc/net/unix").contains { $0.hasSuffix(" \(name)") }
  }
}

extension SocketPath {
  /// The first folder of the path that this user may not search.
  fileprivate var closedFolder: String {
    var folder = ""
    for name in directory.split(separator: "/") {
      let next = folder.isEmpty && !directory.hasPrefix("/") ? String(name) : "\(folder)/\(name)"
      folder = next
      if access(folder, X_OK) != 0 { return folder }
    }
    return directory
  }
}
