import BywayLibC

/// A reason why a file is not opened.
package enum FileRefusal: Error, Sendable, Hashable {
  case system(SystemError)
  case notRegular(FileStatus.Kind)
  /// The file belongs to another user.
  case foreign(owner: UInt32)
  /// The file has another name as well.
  case linked

  /// Runs system calls, and wraps their errors.
  package static func wrapping<Value: ~Copyable>(
    _ body: () throws(SystemError) -> Value
  ) throws(FileRefusal) -> Value {
    do throws(SystemError) { return try body() } catch { throw .system(error) }
  }
}

extension FileRefusal: CustomStringConvertible {
  /// The text that follows a path and a colon.
  package var description: String {
    switch self {
    case .system(let error): "\(error)"
    case .notRegular(.folder): "\(SystemError(code: EISDIR))"
    case .notRegular(let kind): "it is \(kind), not a regular file"
    case .foreign(let owner): "it belongs to another user (\(owner))"
    case .linked: "it is a hard link, so another name leads to it as well"
    }
  }
}

extension FileStatus.Kind: CustomStringConvertible {
  /// The name of the kind, with its article.
  package var description: String {
    switch self {
    case .regular: "a regular file"
    case .folder: "a folder"
    case .characterDevice, .other: "a device"
    case .socket: "a socket"
    case .pipe: "a pipe"
    case .symbolicLink: "a symbolic link"
    }
  }
}
