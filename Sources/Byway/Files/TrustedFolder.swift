import Glibc

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
      throw Self.failure("Cannot use \(path): \(Descriptor.Failure(code: ENOENT)).")
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
    // The stream closes the descriptor that it reads.
    let own = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard own >= 0, let stream = fdopendir(own) else {
      let code = errno
      if own >= 0 { close(own) }
      throw Self.failure("Cannot read \(path): \(Descriptor.Failure(code: code)).")
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// A file for reading.
  /// - Returns: `nil` where there is none of that name.
  /// - Throws: ``BywayError`` where it cannot be read, or is somebody else's: it is older than the folder's mode.
  package func file(_ name: String) throws -> OpenFile? {
    do {
      let file = try OpenFile(owning: open(name, O_RDONLY | O_NONBLOCK), path: "\(path)/\(name)")
      guard TrustedPath.isTrusted(file.owner), file.permissions & 0o022 == 0 else {
        throw Self.failure(
          "\(file.path) could be written by others (user \(file.owner), mode \(String(file.permissions, radix: 8))):"
            + " look at it, and remove it.")
      }
      return file
    } catch let failure as Descriptor.Failure {
      if failure.code == ENOENT { return nil }
      throw Self.failure("Cannot read \(path)/\(name): \(failure).")
    }
  }

  /// Never through a symbolic link.
  package func open(_ name: String, _ flags: CInt, mode: UInt32 = 0o600) throws(Descriptor.Failure) -> CInt {
    guard Self.isName(name) else { throw Descriptor.Failure(code: EINVAL) }
    return try Descriptor.open(name, flags | O_NOFOLLOW, mode: mode, in: descriptor)
  }

  /// Whether there is something of that name.
  package func contains(_ name: String) -> Bool {
    Self.isName(name) && faccessat(descriptor, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0
  }

  /// Gives a file another name, in place of what has it.
  package func rename(_ name: String, to other: String) throws(Descriptor.Failure) {
    guard renameat(descriptor, name, descriptor, other) == 0 else { throw Descriptor.Failure(code: errno) }
  }

  /// Gives a file a second name, which must be free.
  package func link(_ name: String, to other: String) throws(Descriptor.Failure) {
    guard linkat(descriptor, name, descriptor, other, 0) == 0 else { throw Descriptor.Failure(code: errno) }
  }

  /// - Throws: unless it is gone.
  package func remove(_ name: String) throws(Descriptor.Failure) {
    guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else { throw Descriptor.Failure(code: errno) }
  }

  private static func isName(_ name: String) -> Bool {
    !name.isEmpty && name != "." && name != ".." && !name.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
  }

  private static func open(_ path: String, _ making: TrustedPath.Making) throws(BywayError) -> CInt? {
    do {
      return try TrustedPath.open(path, making: making)
    } catch {
      throw failure(error.message(path))
    }
  }

  private static func failure(_ message: String) -> BywayError {
    BywayError(.invalidRequest, message, processing: .none)
  }
}
