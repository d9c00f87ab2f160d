internal import Glibc

/// The process that listens on a TCP port of this machine, as far as this user may see (proc_pid_fd(5)).
struct SocketHolder: Sendable, Hashable {
  let processID: pid_t
  let name: String?

  /// Blocks shortly.
  init?(ofPort port: Int) {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap { ProcFile.lines(of: $0) }
    let inodes = Set(tables.compactMap { Self.inode(ofListenerIn: $0, port: port) })
    guard !inodes.isEmpty, let holder = Self.process(holding: inodes) else { return nil }
    processID = holder
    name = ProcFile.lines(of: "/proc/\(holder)/comm").first?.visible
  }

  /// The inode in a line such as `0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 …`.
  static func inode(ofListenerIn line: String, port: Int) -> String? {
    let columns = line.split(separator: " ")
    // 0A is TCP_LISTEN.
    guard columns.count > 9, columns[3] == "0A", let colon = columns[1].lastIndex(of: ":"),
      Int(columns[1][columns[1].index(after: colon)...], radix: 16) == port
    else { return nil }
    return String(columns[9])
  }

  private static func process(holding inodes: Set<String>) -> pid_t? {
    let names = Set(inodes.map { "socket:[\($0)]" })
    for process in ProcFile.names(in: "/proc").compactMap({ pid_t($0) }) {
      let folder = "/proc/\(process)/fd"
      if ProcFile.names(in: folder).contains(where: { names.contains(ProcFile.target(of: "\(folder)/\($0)") ?? "") }) {
        return process
      }
    }
    return nil
  }
}

extension SocketHolder: CustomStringConvertible {
  var description: String { "process \(processID)" + (name.map { " (\($0))" } ?? "") }
}

/// What stands in /proc; nothing where it may not be read, or is gone.
private enum ProcFile {
  private static let lineLimit = 100_000

  static func lines(of path: String) -> [String] {
    guard let file = fopen(path, "re") else { return [] }
    defer { fclose(file) }
    var lines: [String] = []
    var line = [CChar](repeating: 0, count: 512)
    while lines.count < lineLimit, fgets(&line, CInt(line.count), file) != nil {
      lines.append(String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
    }
    return lines
  }

  static func names(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      names.append(
        withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    return names
  }

  static func target(of link: String) -> String? {
    var text = [CChar](repeating: 0, count: 256)
    let length = readlink(link, &text, text.count)
    guard length > 0 else { return nil }
    return String(decoding: text.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
