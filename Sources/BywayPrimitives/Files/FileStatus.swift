import BywayLibC

/// The status of a file (stat(2)).
package struct FileStatus: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    case regular, folder, characterDevice, socket, pipe, symbolicLink, other
  }

  package let kind: Kind
  package let size: Int
  package let owner: UInt32
  package let group: UInt32
  /// The permissions of its users, as in `chmod`.
  package let permissions: UInt32
  /// The time of the last change of its content, since 1970.
  package let modified: Duration
  /// The identity of the file, whatever its name.
  package let identity: Identity
  /// The number of the device that it stands for.
  package let deviceNumber: UInt64
  /// The number of its names.
  package let links: Int
  /// Whether it is a sticky folder, in which only its owner and that of a file can remove the file.
  package let isSticky: Bool

  package struct Identity: Sendable, Hashable {
    package let device: UInt64
    package let inode: UInt64
  }

  /// - Parameter followsLinks: `false` for a symbolic link itself.
  package init(of path: String, followsLinks: Bool = true) throws(SystemError) {
    var status = stat()
    try SystemError.check(followsLinks ? stat(path, &status) : lstat(path, &status))
    self.init(status)
  }

  /// - Parameter descriptor: An open descriptor of the file.
  package init(of descriptor: CInt) throws(SystemError) {
    var status = stat()
    try SystemError.check(fstat(descriptor, &status))
    self.init(status)
  }

  private init(_ status: stat) {
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .folder
      case S_IFCHR: .characterDevice
      case S_IFSOCK: .socket
      case S_IFIFO: .pipe
      case S_IFLNK: .symbolicLink
      default: .other
      }
    size = Int(status.st_size)
    owner = status.st_uid
    group = status.st_gid
    permissions = status.st_mode & 0o777
    modified = .seconds(status.st_mtim.tv_sec) + .nanoseconds(status.st_mtim.tv_nsec)
    identity = Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    deviceNumber = UInt64(status.st_rdev)
    links = Int(status.st_nlink)
    isSticky = status.st_mode & S_ISVTX != 0
  }

  /// Whether it is /dev/null, under whatever name.
  package var isNull: Bool { kind == .characterDevice && deviceNumber == 0x103 }
}
