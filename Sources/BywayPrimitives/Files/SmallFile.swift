import BywayLibC

/// A file of settings, certificates or keys, read completely: a regular file, or /dev/null, which is empty. Blocks: not for event
/// loops.
package struct SmallFile: Sendable {
  package enum Failure: Error, Sendable, Hashable {
    case missing
    case tooLarge(limit: Int)
    case refused(FileRefusal)

    package init(_ refusal: FileRefusal) {
      switch refusal {
      case .system(SystemError(code: ENOENT)), .system(SystemError(code: ENOTDIR)): self = .missing
      default: self = .refused(refusal)
      }
    }
  }

  package var bytes: [UInt8]
  package let status: FileStatus

  /// - Parameter limit: The limit of its size, in bytes.
  package init(_ path: String, limit: Int) throws(Failure) {
    do throws(FileRefusal) {
      if let status = try? FileStatus(of: path), status.isNull {
        (bytes, self.status) = ([], status)
        return
      }
      let file = try RegularFile.open(path)
      defer { close(file.descriptor) }
      status = file.status
      bytes = try FileRefusal.wrapping { () throws(SystemError) in
        try Descriptor.read(file.descriptor, upTo: limit + 1)
      }
    } catch {
      throw Failure(error)
    }
    guard bytes.count <= limit else { throw .tooLarge(limit: limit) }
  }

  /// `nil` if the file is not UTF-8.
  package var text: String? { String(validating: bytes, as: UTF8.self) }

  /// Whether only this user and root can have written it.
  package var isTrusted: Bool { (status.owner == geteuid() || status.owner == 0) && status.permissions & 0o022 == 0 }
}

extension SmallFile.Failure: CustomStringConvertible {
  /// The text that follows a path and a colon.
  package var description: String {
    switch self {
    case .missing: "\(SystemError(code: ENOENT))"
    case .tooLarge(let limit): "it is larger than \(limit >> 10) KiB"
    case .refused(let refusal): "\(refusal)"
    }
  }
}
