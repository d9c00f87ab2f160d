import BywayLibC
import BywayPrimitives

/// The path from the root to a folder, opened one component after the other, so that no user can replace a component after it was checked.
///
/// Every folder on it must be trusted: it belongs to this user or to root, and no other user can write to it. A sticky folder such as /tmp
/// is also accepted on the way, because other users cannot replace entries of this user there. Symbolic links are followed if their owner
/// is trusted.
struct TrustedPath: ~Copyable {
  /// Why a component of the path is rejected.
  struct Rejection: Error {
    let place: String
    let reason: Reason

    enum Reason {
      case foreign(uid_t)
      case foreignLink(uid_t)
      case writable(mode_t)
      case noFolder
      case tooManyLinks
      case failure(CInt)
    }
  }

  enum Making {
    case nothing
    /// The folder itself, but not its parents.
    case folder
    case all
  }

  /// A flag of `open`: a folder that may be passed through, even if it cannot be read. Glibc's name for it is not imported.
  private static let pathOnly: CInt = 0o10_000_000
  private static let linkLimit = 40

  private let making: Making
  /// The remaining components, the next one last.
  private var names: [Substring] = []
  private var descriptor: CInt
  private var place = ""
  private var links = 0
  /// The first error. Thrown only if the folder exists or is to be created: without a folder there is no untrusted content.
  private var rejection: Rejection?

  /// - Returns: an open descriptor of the folder; `nil` if it does not exist and is not to be created.
  static func open(_ path: String, making: Making) throws(Rejection) -> CInt? {
    var way = try TrustedPath(path, making: making)
    return try way.walk()
  }

  private init(_ path: String, making: Making) throws(Rejection) {
    self.making = making
    descriptor = -1
    let absolute = path.hasPrefix("/") ? path : try Self.workingFolder() + "/" + path
    push(absolute)
    try goToRoot()
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  private mutating func walk() throws(Rejection) -> CInt? {
    while let name = names.popLast() {
      guard try step(String(name)) else { return nil }
    }
    if let rejection { throw rejection }
    // Another descriptor of the same folder, which can be read.
    let readable = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard readable >= 0 else { throw failure(errno, at: place) }
    return readable
  }

  /// - Returns: `false` if the entry does not exist and is not to be created.
  private mutating func step(_ name: String) throws(Rejection) -> Bool {
    var status = stat()
    let there = "\(place)/\(name)"
    if fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) != 0 {
      guard errno == ENOENT, making == .all || (making == .folder && names.isEmpty) else {
        if errno == ENOENT, making == .nothing { return false }
        throw failure(errno, at: there)
      }
      if let rejection { throw rejection }
      guard mkdirat(descriptor, name, 0o700) == 0 || errno == EEXIST else { throw failure(errno, at: there) }
    } else if status.st_mode & S_IFMT == S_IFLNK {
      try follow(name, status, at: there)
      return true
    }
    let next = openat(descriptor, name, Self.pathOnly | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard next >= 0 else {
      throw errno == ENOTDIR || errno == ELOOP
        ? Rejection(place: there, reason: .noFolder) : failure(errno, at: there)
    }
    enter(next, as: there)
    return true
  }

  private mutating func follow(_ name: String, _ status: stat, at there: String) throws(Rejection) {
    links += 1
    guard links <= Self.linkLimit else { throw Rejection(place: there, reason: .tooManyLinks) }
    if !Self.isTrusted(status.st_uid) { note(Rejection(place: there, reason: .foreignLink(status.st_uid))) }
    let target: String
    do {
      target = try SymbolicLink.target(of: name, in: descriptor)
    } catch {
      throw failure(error.code, at: there)
    }
    push(target)
    if target.hasPrefix("/") { try goToRoot() }
  }

  private mutating func goToRoot() throws(Rejection) {
    let root = BywayLibC.open("/", Self.pathOnly | O_DIRECTORY | O_CLOEXEC)
    guard root >= 0 else { throw failure(errno, at: "/") }
    enter(root, as: "")
  }

  private mutating func enter(_ next: CInt, as name: String) {
    if descriptor >= 0 { close(descriptor) }
    descriptor = next
    place = name
    var status = stat()
    let path = name.isEmpty ? "/" : name
    guard fstat(next, &status) == 0 else { return note(Rejection(place: path, reason: .failure(errno))) }
    if !Self.isTrusted(status.st_uid) {
      note(Rejection(place: path, reason: .foreign(status.st_uid)))
    } else if status.st_mode & 0o022 != 0, status.st_mode & S_ISVTX == 0 || names.isEmpty {
      // In a sticky folder other users may create entries: acceptable for a parent, not for the folder itself.
      note(Rejection(place: path, reason: .writable(status.st_mode & 0o7777)))
    }
  }

  /// Keeps the first error.
  private mutating func note(_ found: Rejection) {
    if rejection == nil { rejection = found }
  }

  private mutating func push(_ path: String) {
    names += path.split(separator: "/").filter { $0 != "." }.reversed()
  }

  private func failure(_ code: CInt, at place: String) -> Rejection {
    Rejection(place: place, reason: .failure(code))
  }

  /// Root is trusted because it has access in any case.
  static func isTrusted(_ owner: uid_t) -> Bool { owner == geteuid() || owner == 0 }

  private static func workingFolder() throws(Rejection) -> String {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    guard getcwd(&bytes, bytes.count) != nil else { throw Rejection(place: ".", reason: .failure(errno)) }
    return String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

extension TrustedPath.Rejection {
  /// - Parameter path: the requested folder.
  func message(_ path: String) -> String {
    let kept = place == path ? "" : ", and so change what is in \(path)"
    return switch reason {
    case .foreign(let owner):
      "\(place) belongs to another user (\(owner)), who can write to it\(kept): choose a folder of your own."
    case .foreignLink(let owner):
      "\(place) is a symbolic link of another user (\(owner)), who can let it lead anywhere: choose a folder of your own."
    case .writable(let mode):
      "Others can write to \(place) (mode \(String(mode, radix: 8)))\(kept): run chmod go-w on it and check what is in it, or"
        + " choose a folder of your own."
    case .noFolder: "\(place) is not a folder."
    case .tooManyLinks: "\(place) is one of too many symbolic links."
    case .failure(let code):
      "Cannot use \(path): \(place == path ? "" : "\(place): ")\(SystemError(code: code))."
    }
  }
}
