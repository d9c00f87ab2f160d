import Glibc

/// A file of settings, certificates or keys, read whole. Blocks: not for event loops.
package struct SmallFile: Sendable {
  package enum Failure: Error, Sendable, Hashable {
    case missing
    case system(SystemError)
    case tooLarge(limit: Int)
    case noRegularFile
  }

  package var bytes: [UInt8]
  package let status: FileStatus

  /// - Parameter waits: for whoever writes to it, where it is a pipe, as a shell's `<(…)` is; otherwise a pipe is
  ///   refused.
  package init(_ path: String, limit: Int, waits: Bool = false) throws(Failure) {
    do throws(SystemError) {
      let descriptor = try Descriptor.open(path, waits ? O_RDONLY : O_RDONLY | O_NONBLOCK)
      defer { close(descriptor) }
      status = try FileStatus(of: descriptor)
      // /dev/null is a way to say "none". Of a folder the read says what is wrong with it.
      let isReadable = waits || [.regular, .characterDevice, .folder].contains(status.kind)
      bytes = isReadable ? try Descriptor.read(descriptor, upTo: limit + 1) : []
    } catch {
      throw error.code == ENOENT || error.code == ENOTDIR ? .missing : .system(error)
    }
    guard waits || status.kind == .regular || status.kind == .characterDevice else { throw .noRegularFile }
    guard bytes.count <= limit else { throw .tooLarge(limit: limit) }
  }

  /// `nil` where it is not UTF-8.
  package var text: String? { String(validating: bytes, as: UTF8.self) }

  /// Nobody but this user and root can have written it.
  package var isTrusted: Bool { (status.owner == geteuid() || status.owner == 0) && status.permissions & 0o022 == 0 }
}

extension SmallFile.Failure: CustomStringConvertible {
  /// Follows a path and a colon.
  package var description: String {
    switch self {
    case .missing: "\(SystemError(code: ENOENT))"
    case .system(let error): "\(error)"
    case .tooLarge(let limit): "it is larger than \(limit >> 10) KiB"
    case .noRegularFile: "it is not a regular file"
    }
  }
}
