import BywayLibC
package import BywayPrimitives

/// A folder whose content this program trusts: a cache, recordings, certificates. No other user can have put anything there:
/// ``TrustedPath`` has the conditions.
///
/// All access goes through the descriptor that was checked. Blocks; safe on any thread.
package final class TrustedFolder: Sendable {
  package enum Making {
    /// Creates it with mode 0700 if it does not exist; its parent must exist.
    case folder
    /// Creates its parents as well.
    case all
  }

  /// The path in messages.
  package let path: String
  private let descriptor: CInt

  /// - Throws: ``BywayError`` if it cannot be created or used, or other users could change its content.
  package convenience init(_ path: String, making: Making) throws(BywayError) {
    guard let descriptor = try Self.open(path, making == .all ? .all : .folder) else {
      throw Self.failure("Cannot use \(path): \(SystemError(code: ENOENT)).", making: true)
    }
    self.init(path, descriptor)
  }

  /// - Returns: `nil` if it does not exist.
  /// - Throws: ``BywayError`` if it cannot be used, or other users could change its content.
  package static func existing(_ path: String) throws(BywayError) -> TrustedFolder? {
    try open(path, .nothing).map { TrustedFolder(path, $0) }
  }

  private init(_ path: String, _ descriptor: CInt) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit {
    close(descriptor)
  }

  /// Returns the names of its files, in no particular order.
  package func names() throws(BywayError) -> [String] {
    do {
      return try Folder.names(in: descriptor)
    } catch {
      throw .cannotRead(path, error)
    }
  }

  /// Opens a file for reading.
  /// - Returns: `nil` if it does not exist.
  /// - Throws: ``BywayError`` if it cannot be read, or if other users could have written it, before the folder had its mode.
  package func file(_ name: String) throws -> OpenFile? {
    do {
      let file = try OpenFile(owning: open(name, O_RDONLY | O_NONBLOCK), path: "\(path)/\(name)")
      guard TrustedPath.isTrusted(file.status.owner), file.status.permissions & 0o022 == 0 else {
        throw Self.failure(
          "\(file.path) could be written by others (user \(file.status.owner), mode "
            + "\(String(file.status.permissions, radix: 8))): look at it, and remove it.")
      }
      return file
    } catch let failure as SystemError {
      if failure.code == ENOENT { return nil }
      throw BywayError.cannotRead("\(path)/\(name)", failure)
    }
  }

  /// Opens a file, but never through a symbolic link.
  package func open(_ name: String, _ flags: CInt, mode: UInt32 = 0o600) throws(SystemError) -> CInt {
    guard Self.isName(name) else { throw SystemError(code: EINVAL) }
    return try Descriptor.open(name, flags | O_NOFOLLOW, mode: mode, in: descriptor)
  }

  /// Whether an entry of that name exists.
  package func contains(_ name: String) -> Bool {
    Self.isName(name) && faccessat(descriptor, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0
  }

  /// Renames a file; replaces an existing one.
  package func rename(_ name: String, to other: String) throws(SystemError) {
    try SystemError.check(renameat(descriptor, name, descriptor, other))
  }

  /// Gives a file a second name, which must be free.
  package func link(_ name: String, to other: String) throws(SystemError) {
    try SystemError.check(linkat(descriptor, name, descriptor, other, 0))
  }

  /// - Throws: if it still exists.
  package func remove(_ name: String) throws(SystemError) {
    guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else { throw .last }
  }

  private static func isName(_ name: String) -> Bool {
    !name.isEmpty && name != "." && name != ".." && !name.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
  }

  private static func open(_ path: String, _ making: TrustedPath.Making) throws(BywayError) -> CInt? {
    do {
      return try TrustedPath.open(path, making: making)
    } catch {
      throw failure(error.message(path), making: making != .nothing)
    }
  }

  private static func failure(_ message: String, making: Bool = false) -> BywayError {
    BywayError(making ? .uncreatableFile : .unreadableFile, message, processing: .none)
  }
}
