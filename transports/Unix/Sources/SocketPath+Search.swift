import Byway
import BywayLibC
import BywayPrimitives

/// Searches for the reason why there is no socket at a path.
extension SocketPath {
  /// A suggestion: the socket in the same folder with the most similar name.
  var hint: String {
    let folder = directory
    let names = ((try? Folder.names(in: folder)) ?? []).filter { FileKind(of: "\(folder)/\($0)") == .socket }
    let name = String(text[(text.lastIndex(of: "/").map(text.index(after:)) ?? text.startIndex)...])
    return Spelling.nearest(to: name, among: names).map { " Did you mean \"\(folder)/\($0)\"?" } ?? ""
  }

  /// Whether an abstract socket has this name. They are listed with an at sign in place of their first byte, which is zero
  /// (unix(7)).
  var namesAbstractSocket: Bool {
    KernelFile.lines(of: "/proc/net/unix").contains { $0.hasSuffix(" \(text)") }
  }

  /// The first folder of the path that this user may not search.
  var closedFolder: String {
    var folder = ""
    for name in directory.split(separator: "/") {
      let next = folder.isEmpty && !directory.hasPrefix("/") ? String(name) : "\(folder)/\(name)"
      folder = next
      if access(folder, X_OK) != 0 { return folder }
    }
    return directory
  }
}
