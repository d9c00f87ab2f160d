import BywayLibC

/// The targets of symbolic links.
package enum SymbolicLink {
  /// Returns the target as written in the link.
  /// - Parameter folder: The descriptor that a relative path starts from.
  package static func target(of path: String, in folder: CInt = AT_FDCWD) throws(SystemError) -> String {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlinkat(folder, path, &bytes, bytes.count)
    guard count >= 0 else { throw .last }
    guard count < bytes.count else { throw SystemError(code: ENAMETOOLONG) }
    return String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Returns the path with all symbolic links resolved.
  package static func resolved(_ path: String) throws(SystemError) -> String {
    guard let resolved = realpath(path, nil) else { throw .last }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
