import Byway
import BywayLibC
import BywayPrimitives
import BywayTerminal
import NIOCore

/// The output for a response's body: standard output, or a file that gets its name only when it is complete.
///
/// Before that, its name is `FILE.part`, and it remains if the body was cut short.
final class OutputFile {
  private enum Target {
    /// `refusesBinary`: it is a terminal, and the user has not asked for any content there.
    case standardOutput(refusesBinary: Bool)
    /// A device or a pipe, which cannot be replaced by a renamed file.
    case special(String)
    case file(String)
  }

  private let target: Target
  /// How long a pipe may have no reader.
  private let patience: Duration
  /// Opened for the first byte, so that a request that fails earlier leaves no file.
  private var descriptor: CInt?

  /// - Parameter path: `nil` or `-` for standard output.
  /// - Throws: ``CommandFailure`` if it is clear already that the file cannot be created.
  init(_ path: String?, patience: Duration = .seconds(30)) throws {
    self.patience = patience
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

  /// Whether a part of the body is in a file, which a later download can continue.
  var isPartial: Bool {
    if case .file = target { descriptor != nil } else { false }
  }

  func write(_ bytes: ByteBuffer) throws {
    if case .standardOutput(refusesBinary: true) = target, bytes.readableBytesView.contains(0) {
      throw CommandFailure(
        .ioFailure,
        "The body is binary and could garble the terminal: write it to a file with -o FILE, or force it here with -o -."
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

  /// Completes the body: the file gets its name.
  func finish() throws {
    guard case .file(let path) = target else { return }
    try PartialDownload.rename(partOf: path, try open())
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
    let opened =
      switch target {
      case .standardOutput: STDOUT_FILENO
      case .special(let path): try openSpecial(path)
      case .file(let path): try PartialDownload.makePart(of: path)
      }
    descriptor = opened
    return opened
  }

  /// Opens a device or a pipe. Waits for a pipe's reader.
  private func openSpecial(_ path: String) throws -> CInt {
    let start = ContinuousClock.now
    while true {
      do throws(FileRefusal) {
        return try SharedPlace.open(path, O_WRONLY, mode: 0o666)
      } catch {
        guard error == .system(SystemError(code: ENXIO)) else {
          throw CommandFailure(.cannotCreate, "Cannot create \(path): \(error).")
        }
      }
      guard ContinuousClock.now - start < patience else {
        throw CommandFailure(
          .cannotCreate,
          "Cannot write to \(path): no program has read from this pipe for \(patience.components.seconds) s.")
      }
      try Task.checkCancellation()
      usleep(20_000)
    }
  }

  private static func notCreated(_ path: String, _ code: CInt) -> CommandFailure {
    CommandFailure(.cannotCreate, "Cannot create \(path): \(SystemError(code: code)).")
  }
}
