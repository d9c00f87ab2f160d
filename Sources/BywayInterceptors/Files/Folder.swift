import Byway
import Glibc

/// What is in a folder.
enum Folder {
  /// The names, in no order. Blocks.
  /// - Throws: ``BywayError`` where it cannot be read.
  static func names(_ path: String) throws -> [String] {
    guard let directory = opendir(path) else {
      throw BywayError(.invalidRequest, "Cannot read \(path): \(String(cString: strerror(errno))).", processing: .none)
    }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}
