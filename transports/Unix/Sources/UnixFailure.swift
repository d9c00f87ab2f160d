import Byway
import Glibc
import NIOCore
import Primitives

/// The messages for failures, in the user's terms.
enum UnixFailure {
  static func connecting(to path: SocketPath, _ error: any Error, expecting peer: LinkPeer) -> BywayError {
    if case ChannelError.connectTimeout? = error as? ChannelError {
      return unavailable("\(path.text) did not accept in time: the program that owns it is busy or stuck.", error)
    }
    guard let code = (error as? IOError)?.errnoCode else {
      return unavailable("Cannot connect to \(path.text).", error)
    }
    switch code {
    case ENOENT, ENOTDIR:
      return FileKind(of: path.directory) == .directory
        ? unavailable("There is no socket \(path.text): start \(peer.name), or check the path.", error)
        : noDirectory(path, error)
    case ECONNREFUSED where path.kind != .socket, ENOTSOCK:
      return notASocket(path)
    case ECONNREFUSED:
      return unavailable("Nothing listens on \(path.text): its owner has ended. Start \(peer.name) again.", error)
    case EACCES, EPERM:
      return unavailable(
        "Permission denied on \(path.text): ask its owner for a wider ?mode=, or run as a user or group that may write "
          + "to it.", error)
    case EAGAIN:
      return unavailable("\(path.text) did not accept in time: its owner is busy or stuck.", error)
    case EPROTOTYPE:
      return unavailable("\(path.text) is not a stream socket: it belongs to another kind of program.", error)
    default:
      return unavailable("Cannot connect to \(path.text): \(SystemError(code: code)).", error)
    }
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
