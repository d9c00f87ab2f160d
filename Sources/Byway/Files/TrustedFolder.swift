import Glibc
package import Primitives

/// A folder that this program believes what it finds in it: a cache, recordings, certificates. Nobody else can have put it
/// there: ``TrustedPath`` says what that takes.
///
/// Everything in it is reached from the descriptor that was looked at. Blocks; safe on any thread.
package final class TrustedFolder: Sendable {
  package enum Making {
    /// With mode 0700, where there is none; its parent must exist.
    case folder
    /// Its parents as well.
    case all
  }

  /// For messages.
  package let path: String
  private let descriptor: CInt

  /// - Throws: ``BywayError`` where it cannot be made or used, or others could change what is in it.
  package convenience init(_ path: String, making: Making) throws(BywayError) {
    guard let descriptor = try Self.open(path, making == .all ? .all : .folder) else {
      throw Self.failure("Cannot use \(path): \(SystemError(code: ENOENT)).", making: true)
    }
    self.init(path, descriptor)
  }

  /// - Returns: `nil` where there is none.
  /// - Throws: ``BywayError`` where it cannot be used, or others could change what is in it.
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

  /// The names, in no order.
  package func names() throws(BywayError) -> [String] {
    do {
      return try Folder.names(in: descriptor)
    } catch {
      throw .cannotRead(path, error)
    }
  }

  /// A file for reading.
  /// - Returns: `nil` where there is none of that name.
  /// - Throws: ``BywayError`` where it cannot be read, or is somebody else's: it is older than the folder's mode.
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

  /// Never through a symbolic link.
  package func open(_ name: String, _ flags: CInt, mode: UInt32 = 0o600) throws(SystemError) -> CInt {
    guard Self.isName(name) else { throw SystemError(code: EINVAL) }
    return try Descriptor.open(name, flags | O_NOFOLLOW, mode: mode, in: descriptor)
  }

  /// Whether there is something of that name.
  package func contains(_ name: String) -> Bool {
    Self.isName(name) && faccessat(descriptor, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0
  }

  /// Gives a file another name, in place of what has it.
  package func rename(_ name: String, to other: String) throws(SystemError) {
    try SystemError.check(renameat(descriptor, name, descriptor, other))
  }

  /// Gives a file a second name, which must be free.
  package func link(_ name: String, to other: String) throws(SystemError) {
    try SystemError.check(linkat(descriptor, name, descriptor, other, 0))
  }

  /// - Throws: unless it is gone.
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
