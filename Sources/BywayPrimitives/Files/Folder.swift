import BywayLibC

/// Operations on folders.
package enum Folder {
  /// Returns the names in a folder, in no order.
  package static func names(in path: String) throws(SystemError) -> [String] {
    let descriptor = try Descriptor.open(path, O_RDONLY | O_DIRECTORY)
    defer { close(descriptor) }
    return try names(in: descriptor)
  }

  /// - Parameter folder: An open descriptor, which stays open.
  package static func names(in folder: CInt) throws(SystemError) -> [String] {
    // The stream closes the descriptor that it reads.
    let own = try Descriptor.open(".", O_RDONLY | O_DIRECTORY, in: folder)
    guard let stream = fdopendir(own) else {
      let error = SystemError.last
      close(own)
      throw error
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Makes a folder with a unique name, which only its user can access.
  /// - Returns: Its path.
  package static func makeTemporary(in parent: String, prefix: String) throws(SystemError) -> String {
    var template = Array("\(parent)/\(prefix)-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw .last }
    return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
