import BywayLibC

/// Functions that open regular files. A call waits for the file system only, and never for another process. Blocks: not for event
/// loops.
package enum RegularFile {
  /// Opens a file to read it, also through a symbolic link.
  /// - Returns: A descriptor, which belongs to the caller, and the status of its file.
  package static func open(_ path: String) throws(FileRefusal) -> (descriptor: CInt, status: FileStatus) {
    // The kind is checked first, because opening has effects: a pipe's writer wakes up, and a watchdog begins to count.
    try check(FileRefusal.wrapping { () throws(SystemError) in try FileStatus(of: path) })
    return try open(path, O_RDONLY)
  }

  /// Opens a file of this user to write it, and creates it if it does not exist.
  ///
  /// Refuses symbolic links, other users' files and files with a second name, because the caller overwrites the content.
  /// - Parameter isNew: Whether to remove an older file of that name first.
  /// - Returns: A descriptor, which belongs to the caller.
  package static func openOwn(
    _ path: String, _ flags: CInt, mode: UInt32 = 0o666, isNew: Bool = false
  ) throws(FileRefusal) -> CInt {
    for _ in 0..<attempts {
      do throws(SystemError) {
        return try Descriptor.open(path, flags | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
      } catch {
        guard error.code == EEXIST else { throw .system(error) }
      }
      do throws(FileRefusal) {
        let (descriptor, status) = try open(path, flags | O_NOFOLLOW)
        let refusal = Self.refusal(of: status)
        if !isNew, refusal == nil { return descriptor }
        close(descriptor)
        if let refusal { throw refusal }
        guard unlink(path) == 0 || errno == ENOENT else { throw .system(.last) }
      } catch .system(SystemError(code: ENOENT)) {
        // Another process removed it.
      }
    }
    throw .system(SystemError(code: EEXIST))
  }

  private static let attempts = 8

  /// Returns `nil` for a file of this user with one name.
  private static func refusal(of status: FileStatus) -> FileRefusal? {
    if status.owner != geteuid() { return .foreign(owner: status.owner) }
    return status.links > 1 ? .linked : nil
  }

  private static func open(
    _ path: String, _ flags: CInt
  ) throws(FileRefusal) -> (descriptor: CInt, status: FileStatus) {
    let descriptor: CInt
    do throws(SystemError) {
      descriptor = try Descriptor.open(path, flags | O_NONBLOCK | O_NOCTTY)
    } catch {
      // A symbolic link, and a pipe without a reader, are refused by the system.
      if error.code == ELOOP || error.code == ENXIO, let status = try? FileStatus(of: path, followsLinks: false) {
        try check(status)
      }
      throw .system(error)
    }
    do throws(FileRefusal) {
      let status = try FileRefusal.wrapping { () throws(SystemError) in try FileStatus(of: descriptor) }
      try check(status)
      return (descriptor, status)
    } catch {
      close(descriptor)
      throw error
    }
  }

  private static func check(_ status: FileStatus) throws(FileRefusal) {
    guard status.kind == .regular else { throw .notRegular(status.kind) }
  }
}
