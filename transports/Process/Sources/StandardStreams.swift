import Byway
import BywayLibC
import BywayPrimitives
import Synchronization

/// The descriptors of standard input and output, which can be taken once. Safe on any thread.
final class StandardStreams: Sendable {
  static let process = StandardStreams(input: 0, output: 1)

  struct Taken: Sendable {
    enum Kind {
      /// Both are the same socket, as with sshd and inetd. One direction of it is closed by a shutdown, not by a close.
      case oneSocket(CInt)
      case two(input: CInt, output: CInt)
    }
    let kind: Kind
    let restorers: BlockingModeHandler.Restorers
  }

  private let input: CInt
  private let output: CInt
  private let isTaken = Mutex(false)

  init(input: CInt, output: CInt) {
    self.input = input
    self.output = output
  }

  /// Moves both to new descriptors.
  ///
  /// The old ones then read from /dev/null and write to standard error: no `print` may write into the link, and the link must
  /// end when its channel does.
  /// - Parameter takesTerminals: whether a terminal may be the link, because the line layer runs on it.
  func take(takesTerminals: Bool = false) throws -> Taken {
    let inputStatus = try check(input, "input", takesTerminals)
    let outputStatus = try check(output, "output", takesTerminals)
    try isTaken.withLock { isTaken in
      guard !isTaken else {
        throw unavailable("Standard input and output are in use as a link already: stdio: can only be given once.")
      }
      isTaken = true
    }
    let isOneSocket = inputStatus.kind == .socket && inputStatus.identity == outputStatus.identity
    let restorers = BlockingModeHandler.Restorers(
      input: try BlockingMode(of: input), output: isOneSocket ? nil : try BlockingMode(of: output),
      terminal: isatty(input) == 1 ? try TerminalMode(of: input) : nil)
    let movedInput = try duplicate(input)
    let movedOutput = try duplicate(output)
    let null = open("/dev/null", O_RDWR | O_CLOEXEC)
    if null >= 0 {
      dup2(null, input)
      if output != input { dup2(output == 1 ? 2 : null, output) }
      close(null)
    }
    guard isOneSocket else { return Taken(kind: .two(input: movedInput, output: movedOutput), restorers: restorers) }
    close(movedOutput)
    return Taken(kind: .oneSocket(movedInput), restorers: restorers)
  }

  private func check(_ descriptor: CInt, _ name: String, _ takesTerminals: Bool) throws -> FileStatus {
    guard let status = try? FileStatus(of: descriptor) else {
      throw unavailable("Standard \(name) is closed: start this under a program that connects it, such as sshd.")
    }
    guard isatty(descriptor) == 0 else {
      if takesTerminals { return status }
      throw unavailable(
        "Standard \(name) is a terminal, with no program at its other end: start this under sshd, inetd or exec:, or choose "
          + "another link.")
    }
    guard status.kind == .pipe || status.kind == .socket else {
      throw unavailable("Standard \(name) is a file or a device: a link needs a pipe or a socket there.")
    }
    return status
  }

  private func unavailable(_ message: String) -> BywayError {
    BywayError(.linkUnavailable, message, processing: .none)
  }
}

/// Duplicates a descriptor so that no child inherits the copy.
func duplicate(_ descriptor: CInt) throws -> CInt {
  let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
  guard copy >= 0 else {
    throw BywayError(
      .linkUnavailable, "Cannot copy a standard stream: \(SystemError.last).", processing: .none)
  }
  return copy
}
