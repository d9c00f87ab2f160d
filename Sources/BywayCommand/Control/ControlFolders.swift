import Byway
import Glibc
import Primitives

/// Where daemons of this user, and of the system, have their control sockets: a folder for each, by its name.
enum ControlFolders {
  static let socketName = "control.sock"
  private static let system = "/run/byway"

  /// One daemon's.
  struct Place: Sendable, Hashable {
    let name: String
    let socket: String
  }

  /// Where a daemon of this name puts its socket, and has made the folder for it; `nil` where there is no place.
  /// - Throws: ``CommandFailure`` where the place cannot be used.
  static func own(_ name: String) throws(CommandFailure) -> Place? {
    // systemd has made it, and gives several separated by colons.
    if let folder = Environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first {
      return Place(name: name, socket: "\(folder)/\(socketName)")
    }
    guard let base = userBase else { return nil }
    do {
      _ = try TrustedFolder("\(base)/\(name)", making: .all)
    } catch {
      throw CommandFailure(.cannotCreate, error.message)
    }
    return Place(name: name, socket: "\(base)/\(name)/\(socketName)")
  }

  /// What a daemon leaves that ends.
  static func leave(_ place: Place) {
    guard let userBase, place.socket.hasPrefix(userBase) else { return }
    rmdir(String(place.socket.dropLast(socketName.count + 1)))
  }

  /// All that there are, sorted by name; the user's before the system's.
  static func all() -> [Place] {
    [userBase, system].compactMap(\.self).flatMap { base in
      ((try? Folder.names(in: base)) ?? []).sorted().compactMap { name in
        let socket = "\(base)/\(name)/\(socketName)"
        return access(socket, F_OK) == 0 ? Place(name: name, socket: socket) : nil
      }
    }
  }

  private static var userBase: String? {
    Environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? "\($0)/byway" : nil }
  }
}
