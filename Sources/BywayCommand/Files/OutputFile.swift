import Byway
import Glibc
import NIOCore
import Primitives

/// Where a response's body goes: standard output, or a file that appears under its name only when it is complete.
///
/// Until then it is `FILE.part`, which stays behind where the body was cut short.
final class OutputFile {
  private enum Target {
    /// `refusesBinary`: it is a terminal, and nobody has asked for whatever comes.
    case standardOutput(refusesBinary: Bool)
    /// A device or a pipe, which nothing can be renamed over.
    case special(String)
    case file(String)
  }

  private let target: Target
  /// Opened with the first byte, so that a request that fails before leaves nothing.
  private var descriptor: CInt?

  /// - Parameter path: `nil` or `-` for standard output.
  /// - Throws: ``CommandFailure`` where it is clear already that the file cannot be made.
  init(_ path: String?) throws {
    guard let path, path != "-" else {
      target = .standardOutput(refusesBinary: path == nil && StandardStream.output.isTerminal)
      return
    }
    switch try? FileStatus(of: path).kind {
    case .folder: throw Self.notCreated(path, EISDIR)
    case nil, .regular: target = .file(path)
    default: target = .special(path)
    }
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    if case .file = target, access(folder, W_OK | X_OK) != 0 { throw Self.notCreated(path, errno) }
  }

  deinit {
    if let descriptor { close(descriptor) }
  }

  /// A part of the body is in a file, which a later download can go on with.
  var isPartial: Bool {
    if case .file = target { descriptor != nil } else { false }
  }

  func write(_ bytes: ByteBuffer) throws {
    if case .standardOutput(refusesBinary: true) = target, bytes.readableBytesView.contains(0) {
      throw CommandFailure(
        .ioFailure,
        "The body is binary and could upset the terminal: write it to a file with -o FILE, or here all the same with -o -."
      )
    }
    guard let writingPath else { return try StandardStream.output.write(bytes) }
    let descriptor = try open()
    do {
      try Descriptor.write(bytes, to: descriptor)
    } catch {
      throw CommandFailure(.ioFailure, "Cannot write to \(writingPath): \(error).")
    }
  }

  /// The body is complete: the file takes its name.
  func finish() throws {
    guard case .file(let path) = target, let writingPath else { return }
    _ = try open()
    if rename(writingPath, path) != 0 { throw Self.notCreated(path, errno) }
    PartialDownload.removeTag(nextTo: path)
  }

  private var writingPath: String? {
    switch target {
    case .standardOutput: nil
    case .special(let path): path
    case .file(let path): path + ".part"
    }
  }

  private func open() throws -> CInt {
    if let descriptor { return descriptor }
    let path = writingPath ?? ""
    // It never stands next to bytes that it does not belong to.
    if case .file(let path) = target { PartialDownload.removeTag(nextTo: path) }
    do {
      let opened = try Descriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC)
      descriptor = opened
      return opened
    } catch {
      throw Self.notCreated(path, error.code)
    }
  }

  private static func notCreated(_ path: String, _ code: CInt) -> CommandFailure {
    CommandFailure(.cannotCreate, "Cannot create \(path): \(SystemError(code: code)).")
  }
}
