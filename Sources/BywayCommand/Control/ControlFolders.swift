import Byway
import Glibc
import Primitives

/// The folders with the control sockets of this user's daemons and of the system's. Each daemon has a folder with its name.
enum ControlFolders {
  static let socketName = "control.sock"
  private static let system = "/run/byway"

  /// The place of one daemon's socket.
  struct Place: Sendable, Hashable {
    let name: String
    let socket: String
  }

  /// Returns the place for the socket of a daemon with this name, and makes its folder. Returns `nil` if there is no place for it.
  /// - Throws: ``CommandFailure`` if the place cannot be used.
  static func own(_ name: String) throws(CommandFailure) -> Place? {
    do {
      // systemd has made it; if there are several, colons separate them.
      if let folder = Environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first.map(String.init) {
        guard folder.hasPrefix("/"), try TrustedFolder.existing(folder) != nil else {
          throw CommandFailure(
            .cannotCreate,
            "RUNTIME_DIRECTORY is \(folder.visible): it must be the absolute path of a folder that exists.")
        }
        return Place(name: name, socket: "\(folder)/\(socketName)")
      }
      guard let base = userBase else { return nil }
      _ = try TrustedFolder("\(base)/\(name)", making: .all)
      return Place(name: name, socket: "\(base)/\(name)/\(socketName)")
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure(.cannotCreate, BywayError(error).message)
    }
  }

  /// Removes the folder of a daemon that ends.
  static func remove(_ place: Place) {
    guard let userBase, place.socket.hasPrefix(userBase) else { return }
    rmdir(String(place.socket.dropLast(socketName.count + 1)))
  }

  /// Returns the places of all running daemons, the user's before the system's, each sorted by name.
  static func all() -> [Place] {
    [userBase, system].compactMap(\.self).flatMap { base in
      ((try? Folder.names(in: base)) ?? []).sorted().compactMap { name in
        let socket = "\(base)/\(name)/\(socketName)"
        return isAnswered(socket) ? Place(name: name, socket: socket) : nil
      }
    }
  }

  /// Whether a process listens on the socket. A killed daemon leaves its socket behind.
  private static func isAnswered(_ path: String) -> Bool {
    guard let address = UnixAddress(path) else { return false }
    let descriptor = Glibc.socket(
      AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    // A full queue means that it is alive. A daemon that this user may not access is listed, too.
    return address.withPointer({ connect(descriptor, $0, $1) }) == 0 || errno == EAGAIN || errno == EACCES
  }

  /// The command that gives the daemons of a login a place. Without a login session, systemd has not made the folder.
  static var remedy: String {
    let folder = "/run/user/\(geteuid())"
    if access(folder, W_OK) == 0 { return "export XDG_RUNTIME_DIR=\(folder)" }
    let other = "/tmp/byway-\(geteuid())"
    return "mkdir -p -m 700 \(other); export XDG_RUNTIME_DIR=\(other)"
  }

  private static var userBase: String? {
    Environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? "\($0)/byway" : nil }
  }
}
