package import Glibc

/// What stands in /proc; nothing where it may not be read, or is gone.
package enum ProcFile {
  private static let lineLimit = 100_000

  package static func lines(of path: String) -> [String] {
    guard let file = fopen(path, "re") else { return [] }
    defer { fclose(file) }
    var lines: [String] = []
    var line = [CChar](repeating: 0, count: 512)
    while lines.count < lineLimit, fgets(&line, CInt(line.count), file) != nil {
      lines.append(String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
    }
    return lines
  }

  package static func names(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      names.append(
        withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    return names
  }

  package static func target(of link: String) -> String? {
    var text = [CChar](repeating: 0, count: 256)
    let length = readlink(link, &text, text.count)
    guard length > 0 else { return nil }
    return String(decoding: text.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// The inodes of the sockets that a process has open, as far as this user may see (proc_pid_fd(5)).
  package static func sockets(of processID: pid_t) -> Set<String> {
    let folder = "/proc/\(processID)/fd"
    return Set(
      names(in: folder).compactMap { target(of: "\(folder)/\($0)") }.filter { $0.hasPrefix("socket:[") }.map {
        String($0.dropFirst(8).dropLast())
      })
  }
}
