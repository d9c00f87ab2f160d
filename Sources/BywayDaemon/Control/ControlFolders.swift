import Byway
import BywayLibC
import BywayPrimitives
import BywayTerminal

/// The folders with the control sockets of this user's daemons and of the system's. Each daemon has a folder with its name.
package enum ControlFolders {
  static let socketName = "control.sock"
  private static let system = "/run/byway"

  /// The place of one daemon's socket.
  package struct Place: Sendable, Hashable {
    package let name: String
    package let socket: String
    /// Whether the daemon has made the folder, and removes it.
    var isMade = false
  }

  /// The running daemons, and the reasons why folders with others are not trusted.
  package struct Search: Sendable {
    package fileprivate(set) var places: [Place] = []
    fileprivate(set) var refusals: [String] = []
  }

  // MARK: A daemon's own place

  /// Returns the place for the socket of a daemon with this name, and makes its folder.
  /// - Throws: ``CommandFailure`` if no place can be used.
  static func own(_ name: String) throws(CommandFailure) -> Place {
    if let folder = try serviceFolder() { return Place(name: name, socket: "\(folder)/\(socketName)") }
    return try firstBase { base throws(CommandFailure) in
      _ = try trusted { () throws(BywayError) in try TrustedFolder("\(base)/\(name)", making: .all) }
      removeStale(in: base)
      return Place(name: name, socket: "\(base)/\(name)/\(socketName)", isMade: true)
    }
  }

  /// Makes a private folder for other sockets of a daemon, in the same place as its control socket and with the same checks.
  /// - Throws: ``CommandFailure`` if no place can be used.
  static func privateFolder() throws(CommandFailure) -> PrivateFolder {
    if let folder = try serviceFolder() { return try PrivateFolder(in: folder) }
    return try firstBase { base throws(CommandFailure) in
      _ = try trusted { () throws(BywayError) in try TrustedFolder(base, making: .all) }
      return try PrivateFolder(in: base)
    }
  }

  /// Returns the folder that systemd has made for this service; `nil` if there is none.
  private static func serviceFolder() throws(CommandFailure) -> String? {
    guard let folder = Environment.runtimeFolder else { return nil }
    guard folder.hasPrefix("/"), try trusted({ () throws(BywayError) in try TrustedFolder.existing(folder) }) != nil
    else {
      throw CommandFailure(
        .cannotCreate, "RUNTIME_DIRECTORY is \(folder.visible): it must be the absolute path of a folder that exists.")
    }
    return folder
  }

  /// Returns the result for the first folder that can be used.
  private static func firstBase<Result>(
    _ use: (String) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    var failure: CommandFailure?
    for base in ownBases {
      do throws(CommandFailure) {
        if base == system { makeSystemFolder() }
        return try use(base)
      } catch {
        failure = failure ?? error
      }
    }
    throw failure ?? CommandFailure(.cannotCreate, "There is no folder for it.")
  }

  private static func trusted<Result>(_ body: () throws(BywayError) -> Result) throws(CommandFailure) -> Result {
    do {
      return try body()
    } catch {
      throw CommandFailure(.cannotCreate, error.message)
    }
  }

  /// Removes the folder of a daemon that ends.
  static func remove(_ place: Place) {
    if place.isMade { rmdir(String(place.socket.dropLast(socketName.count + 1))) }
  }

  /// Makes the folder that daemons of the system share with root's own. systemd does not change it if it exists.
  private static func makeSystemFolder() {
    if mkdir(system, 0o755) == 0 { chmod(system, 0o755) }
  }

  /// Removes the sockets of daemons that were killed, and named after their processes. A later daemon of the same name replaces
  /// any other socket.
  private static func removeStale(in base: String) {
    for name in (try? Folder.names(in: base)) ?? [] {
      let socket = "\(base)/\(name)/\(socketName)"
      guard let process = DaemonName.process(of: name), !RunningProcess.isRunning(process), !isAnswered(socket) else {
        continue
      }
      unlink(socket)
      rmdir("\(base)/\(name)")
    }
  }

  // MARK: All places

  /// Returns the places of all running daemons, the user's before the system's, each sorted by name.
  package static func all() -> Search {
    var search = Search()
    for base in allBases {
      do throws(BywayError) {
        guard let folder = try TrustedFolder.existing(base) else { continue }
        for name in try folder.names().sorted() {
          let socket = "\(base)/\(name)/\(socketName)"
          if isAnswered(socket) { search.places.append(Place(name: name, socket: socket)) }
        }
      } catch {
        search.refusals.append(error.message)
      }
    }
    return search
  }

  /// Returns the name of the daemon that a process runs; `nil` if it runs none that this user can access.
  package static func name(ofProcess id: Int32) -> String? {
    all().places.first { place in
      connecting(to: place.socket) { descriptor, _ in PeerCredentials(ofSocket: descriptor)?.processID == id } == true
    }?.name
  }

  /// Whether a process listens on the socket. A killed daemon leaves its socket behind.
  private static func isAnswered(_ path: String) -> Bool {
    // A full queue means that it is alive. A daemon that this user may not access is listed, too.
    connecting(to: path) { _, error in error == 0 || error == EAGAIN || error == EACCES } ?? false
  }

  /// Connects to a socket for a moment.
  /// - Parameter body: Gets the socket, and the error of connecting it or 0.
  /// - Returns: `nil` if the path is too long, or there is no descriptor.
  private static func connecting<Result>(to path: String, _ body: (CInt, CInt) -> Result) -> Result? {
    guard let address = UnixAddress(path) else { return nil }
    let descriptor = BywayLibC.socket(
      AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return body(descriptor, address.withPointer({ connect(descriptor, $0, $1) }) == 0 ? 0 : errno)
  }

  // MARK: Folders

  /// The folders for this user's daemons, the preferred one first. The folder of a login disappears with the login, and root's
  /// daemons are the system's. So root uses /run/byway, unless the variable leads elsewhere.
  private static var ownBases: [String] {
    let isSystem = geteuid() == 0 && (chosen == nil || chosen == login)
    return [isSystem ? system : chosen, temporary].compactMap(\.self)
  }

  /// All folders in which daemons of this user may be, whatever their environment was, and that of the system.
  private static var allBases: [String] {
    var bases: [String] = []
    for base in [chosen, login, temporary, system].compactMap(\.self) where !bases.contains(base) { bases.append(base) }
    return bases
  }

  private static var chosen: String? {
    Environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? "\($0)/byway" : nil }
  }

  /// The folder below the one that systemd makes for a login.
  private static var login: String { "/run/user/\(geteuid())/byway" }

  /// The folder of a user without a login session. Its name is known to every process of that user.
  private static var temporary: String { "/tmp/byway-\(geteuid())" }
}
