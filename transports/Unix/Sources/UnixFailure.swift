import Byway
import BywayLibC
import BywayPrimitives
import NIOCore

/// The messages for failures, in the user's terms.
enum UnixFailure {
  /// - Parameter isExamined: whether the user wants a search for the cause, which takes longer.
  static func connecting(
    to path: SocketPath, _ error: any Error, expecting peer: LinkPeer, isExamined: Bool = false
  ) -> BywayError {
    BywayError(.linkUnavailable, diagnosis(of: path, error, peer, isExamined: isExamined), cause: error)
  }

  private static func diagnosis(
    of path: SocketPath, _ error: any Error, _ peer: LinkPeer, isExamined: Bool
  ) -> Diagnosis {
    if case ChannelError.connectTimeout? = error as? ChannelError {
      return Diagnosis(
        .nobodyListens, "\(path.text) did not accept in time: the program that owns it is busy or stuck.")
    }
    switch (error as? IOError)?.errnoCode {
    case ENOENT, ENOTDIR:
      return missing(path, peer, isExamined: isExamined)
    case ECONNREFUSED where path.kind != .socket, ENOTSOCK:
      return unusable(path, peer)
    case ECONNREFUSED:
      return Diagnosis(
        .nobodyListens, "Nothing listens on \(path.text): its owner has ended. Start \(peer.name) again.")
    case EACCES, EPERM:
      return path.kind == .hidden ? hidden(path) : denied(path)
    case EAGAIN:
      return Diagnosis(.nobodyListens, "\(path.text) did not accept in time: its owner is busy or stuck.")
    case EPROTOTYPE:
      return Diagnosis(
        .notASocket, "\(path.text) is not a stream socket: it belongs to another kind of program.")
    case let code?:
      return Diagnosis(.notConnected, "Cannot connect to \(path.text): \(SystemError(code: code)).")
    case nil:
      return Diagnosis(.notConnected, "Cannot connect to \(path.text).")
    }
  }

  /// Checks the file of a socket before connecting.
  /// - Throws: the error that connecting would have.
  static func checkFile(of path: SocketPath, expecting peer: LinkPeer) throws {
    let diagnosis: Diagnosis
    switch path.kind {
    case .socket: return
    case .missing: diagnosis = missing(path, peer, isExamined: true)
    case .directory, .other: diagnosis = unusable(path, peer)
    case .hidden: diagnosis = hidden(path)
    }
    throw BywayError(.linkUnavailable, diagnosis)
  }

  /// Checks that this user may write to the socket, which is required to connect (unix(7)).
  /// - Returns: the permission bits in octal.
  /// - Throws: the error that connecting would have.
  static func checkPermission(of path: SocketPath) throws -> String {
    let mode = String(try FileStatus(of: path.text).permissions, radix: 8)
    guard access(path.text, W_OK) == 0 else { throw BywayError(.linkUnavailable, denied(path)) }
    return mode
  }

  private static func missing(_ path: SocketPath, _ peer: LinkPeer, isExamined: Bool) -> Diagnosis {
    guard FileKind(of: path.directory) == .directory else {
      return Diagnosis(
        .noFile,
        "There is no directory \(path.directory), so there is no socket in it: start \(peer.name), or correct the path."
      )
    }
    if isExamined, path.text.hasPrefix("@"), path.namesAbstractSocket {
      return Diagnosis(
        .notASocket,
        "\(path.text) is an abstract socket, which is not a file, and no link leads to one: let its owner listen on a path."
      )
    }
    return Diagnosis(
      .noFile,
      "There is no socket \(path.text): start \(peer.name) there, or correct the path.\(isExamined ? path.hint : "")")
  }

  private static func unusable(_ path: SocketPath, _ peer: LinkPeer) -> Diagnosis {
    Diagnosis(
      .notASocket, "\(path.text) exists and is not a socket: correct the path of the link, or that of \(peer.name).")
  }

  private static func hidden(_ path: SocketPath) -> Diagnosis {
    let folder = path.closedFolder
    return Diagnosis(
      .noPermission, "This user may not look into \(folder), where the socket is: run as a user or group that may.",
      command: "ls -ld \(ShellWord.of(folder))")
  }

  private static func denied(_ path: SocketPath) -> Diagnosis {
    let facts = (try? FileStatus(of: path.text)).map { status in
      " (mode \(String(status.permissions, radix: 8)), user \(status.owner), group \(status.group))"
    }
    return Diagnosis(
      .noPermission,
      "Permission denied on \(path.text)\(facts ?? ""): ask its owner for a wider ?mode=, or run as a user or group that may "
        + "write to it.")
  }

  static func listening(on path: SocketPath, _ error: any Error) -> BywayError {
    unavailable("Cannot listen on \(path.text).", error)
  }

  static func binding(_ path: SocketPath, _ code: CInt) -> BywayError {
    switch code {
    case ENOENT, ENOTDIR:
      noDirectory(path, nil)
    case EACCES, EPERM:
      unavailable(
        "Permission denied on \(path.text): choose a directory that this user may write to, such as $XDG_RUNTIME_DIR.",
        nil)
    case EROFS:
      unavailable("\(path.directory) is read-only: choose another directory, such as /run.", nil)
    default:
      unavailable("Cannot listen on \(path.text): \(SystemError(code: code)).", nil)
    }
  }

  static func inUse(_ path: SocketPath, by owner: PeerCredentials?) -> BywayError {
    let found =
      owner.map { " by \(RunningProcess($0.processID)), user \($0.userID): stop that one" }
      ?? ": stop what listens there, which \"sudo ss -lxp\" shows"
    return unavailable("\(path.text) is already in use\(found), or choose another path.", nil)
  }

  static func notASocket(_ path: SocketPath) -> BywayError {
    unavailable("\(path.text) exists and is not a socket: choose another path, or remove it.", nil)
  }

  static func system(_ action: String, _ code: CInt) -> BywayError {
    unavailable("Cannot \(action): \(SystemError(code: code)).", nil)
  }

  private static func noDirectory(_ path: SocketPath, _ error: (any Error)?) -> BywayError {
    unavailable("There is no directory \(path.directory) for the socket: make it, or correct the path.", error)
  }

  private static func unavailable(_ message: String, _ cause: (any Error)?) -> BywayError {
    BywayError(.linkUnavailable, message, processing: .none, cause: cause)
  }

}
