import BywayLibC
import BywayPrimitives

/// The path under which programs find a device: a symbolic link to whatever terminal plays it now.
struct TerminalLink {
  private(set) var path: String

  init(_ path: String) {
    self.path = path
  }

  /// Makes the path name a terminal. It replaces a link that a killed line has left, and nothing else.
  func place(_ terminal: String) throws(LineFailure) {
    if symlink(terminal, path) == 0 { return }
    guard errno == EEXIST else { throw .system("Cannot create \(path)") }
    guard let old = target, old.hasPrefix("/dev/pts/") else {
      throw LineFailure("\(path) exists, and is not a device of an earlier line: name another path, or remove it.")
    }
    guard old == terminal || access(old, F_OK) != 0 else {
      throw LineFailure(
        "\(path) is the device of a running line (\(old)): name another path, or remove it if that line was killed.")
    }
    let new = "\(path).new"
    unlink(new)
    guard symlink(terminal, new) == 0, rename(new, path) == 0 else { throw .system("Cannot replace \(path)") }
  }

  /// Removes the path, unless another program has taken it.
  func remove(_ terminal: String) {
    if target == terminal { unlink(path) }
  }

  /// The name that a device gets which comes back while its old one is still taken: `ttyUSB1` after `ttyUSB0`.
  mutating func advance() {
    let digits = path.reversed().prefix { $0.isASCII && $0.isNumber }.count
    let number = Int(path.suffix(digits)) ?? 0
    path = path.dropLast(digits) + String(number &+ 1)
  }

  private var target: String? { try? SymbolicLink.target(of: path) }
}
