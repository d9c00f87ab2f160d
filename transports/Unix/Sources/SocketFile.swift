import Byway
import BywayLibC

/// The file of a listening socket, with an identity that distinguishes it from later files of the same name.
struct SocketFile: Sendable {
  /// The identity. The inode number alone is not enough, because a file system may reuse it for the next file.
  private struct Identity: Equatable {
    let device: dev_t
    let inode: ino_t
    let born: Int

    init?(of path: String) {
      var status = stat()
      guard lstat(path, &status) == 0 else { return nil }
      device = status.st_dev
      inode = status.st_ino
      born = status.st_mtim.tv_sec &* 1_000_000_000 &+ status.st_mtim.tv_nsec
    }
  }

  private let path: String
  private let identity: Identity?

  /// Creates a socket that is bound and does not listen yet, so no client can connect before its mode is set.
  static func bind(_ path: SocketPath, mode: mode_t?) async throws -> (descriptor: CInt, file: SocketFile) {
    let descriptor = try open()
    do {
      if try bindOnce(descriptor, path) == false {
        try await removeIfStale(path)
        guard try bindOnce(descriptor, path) else { throw UnixFailure.inUse(path, by: Probe(path).owner) }
      }
      let file = SocketFile(path: path.text, identity: Identity(of: path.text))
      if let mode, chmod(path.text, mode) != 0 {
        let code = errno
        file.removeIfOurs()
        throw UnixFailure.binding(path, code)
      }
      return (descriptor, file)
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// Removes the file, unless another one has taken its place.
  func removeIfOurs() {
    guard let identity, identity == Identity(of: path) else { return }
    unlink(path)
  }

  private static func open() throws -> CInt {
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw UnixFailure.system("open a socket", errno) }
    return descriptor
  }

  /// Binds the socket. Returns `false` if a file exists at that path.
  private static func bindOnce(_ descriptor: CInt, _ path: SocketPath) throws -> Bool {
    guard withSocketAddress(path, { BywayLibC.bind(descriptor, $0, $1) }) != 0 else { return true }
    guard errno == EADDRINUSE else { throw UnixFailure.binding(path, errno) }
    return false
  }

  /// Removes a socket file whose owner has ended.
  private static func removeIfStale(_ path: SocketPath) async throws {
    guard let found = Identity(of: path.text) else { return }
    guard path.kind == .socket else { throw UnixFailure.notASocket(path) }
    for attempt in 0..<2 {
      switch Probe(path) {
      case .alive(let owner): throw UnixFailure.inUse(path, by: owner)
      case .unknown(let code): throw UnixFailure.binding(path, code)
      case .dead: break
      }
      // A gateway that is starting now has bound its socket and does not listen yet. It looks dead at the first attempt.
      if attempt == 0 { try await Task.sleep(for: .milliseconds(20)) }
    }
    // Move the file aside first. If another starting process was faster, the moved file is the new one, and is moved back.
    let aside = "\(path.text).stale-\(getpid())"
    guard rename(path.text, aside) == 0 else {
      if errno == ENOENT { return }
      throw UnixFailure.binding(path, errno)
    }
    if Identity(of: aside) != found { link(aside, path.text) }
    unlink(aside)
  }
}

/// The result of connecting to a socket file.
enum Probe {
  case alive(owner: PeerCredentials?)
  case dead
  case unknown(CInt)

  init(_ path: SocketPath) {
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_UNIX, type, 0)
    guard descriptor >= 0 else {
      self = .unknown(errno)
      return
    }
    defer { close(descriptor) }
    guard withSocketAddress(path, { connect(descriptor, $0, $1) }) != 0 else {
      self = .alive(owner: PeerCredentials(ofSocket: descriptor))
      return
    }
    switch errno {
    case ECONNREFUSED, ENOENT: self = .dead
    // The backlog is full, or the socket has another type.
    case EAGAIN, EPROTOTYPE: self = .alive(owner: nil)
    default: self = .unknown(errno)
    }
  }

  var owner: PeerCredentials? {
    if case .alive(let owner) = self { owner } else { nil }
  }
}

private func withSocketAddress(_ path: SocketPath, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
  withUnsafePointer(to: path.systemAddress) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
  }
}
