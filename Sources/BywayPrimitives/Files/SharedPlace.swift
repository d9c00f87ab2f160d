import BywayLibC

/// Functions that open files to write in a folder that all users may share, such as /tmp. Another user may have prepared the name
/// there.
///
/// The rule is that of Linux's settings `fs.protected_symlinks`, `fs.protected_fifos` and `fs.protected_regular`, which small
/// systems leave off: in a sticky folder that others can write to, the name must belong to this user or to the folder's owner.
package enum SharedPlace {
  /// Opens the file with the name, or creates it if there is none. A pipe without a reader is an error (ENXIO).
  /// - Returns: A descriptor that does not block, which belongs to the caller.
  package static func open(_ path: String, _ flags: CInt, mode: UInt32) throws(FileRefusal) -> CInt {
    let flags = flags | O_NONBLOCK | O_NOCTTY
    guard let known = try? FileStatus(of: path, followsLinks: false) else {
      // A file that appears now belongs to another program.
      return try FileRefusal.wrapping { () throws(SystemError) in
        try Descriptor.open(path, flags | O_CREAT | O_EXCL, mode: mode)
      }
    }
    try check(known, at: path)
    // A symbolic link that may be followed leads where its owner wants.
    let kind = known.kind == .symbolicLink ? O_CREAT : O_NOFOLLOW
    let descriptor = try FileRefusal.wrapping { () throws(SystemError) in
      try Descriptor.open(path, flags & ~O_TRUNC | kind, mode: mode)
    }
    do throws(FileRefusal) {
      let status = try FileRefusal.wrapping { () throws(SystemError) in try FileStatus(of: descriptor) }
      if known.kind != .symbolicLink { try check(status, at: path) }
      if flags & O_TRUNC != 0, status.kind == .regular, ftruncate(descriptor, 0) != 0 { throw .system(.last) }
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  private static func check(_ status: FileStatus, at path: String) throws(FileRefusal) {
    guard let folder = try? FileStatus(of: parent(of: path)) else { return }
    let isShared = folder.isSticky && folder.permissions & 0o022 != 0
    guard isShared, status.owner != geteuid(), status.owner != folder.owner else { return }
    throw .foreign(owner: status.owner)
  }

  /// Returns the folder that contains a file.
  package static func parent(of path: String) -> String {
    var path = path[...]
    while path.utf8.count > 1, path.last == "/" { path.removeLast() }
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
