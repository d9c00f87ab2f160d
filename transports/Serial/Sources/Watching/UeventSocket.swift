import Glibc
import Primitives

/// Where the kernel and udev tell of devices: netlink(7), NETLINK_KOBJECT_UEVENT. Without libudev.
///
/// Both are listened to. udev speaks when it has given a device its permissions and names, and the kernel where no udev runs. An
/// event is but a reason to list ports again, so that hearing of each device twice does no harm.
struct UeventSocket: ~Copyable {
  enum Reading: Equatable {
    case event(Uevent)
    /// Nobody's whom we believe, or nothing that can be read.
    case unknown
    /// More came than was read in time (ENOBUFS), or than fits.
    case lost
    case nothing
  }

  // What the kernel's headers define and Swift does not see.
  private static let protocolNumber: CInt = 15
  private static let credentialsKind: CInt = 2
  private static let kernelGroup: UInt32 = 1
  private static let udevGroup: UInt32 = 2
  /// The kernel's largest event has 2 KiB of properties, udev's are a few times that.
  private static let largestMessage = 16 << 10

  /// `struct sockaddr_nl`
  private struct Address {
    var family = UInt16(AF_NETLINK)
    var padding: UInt16 = 0
    var port: UInt32 = 0
    var groups: UInt32 = 0
  }

  /// `struct cmsghdr`, and `struct ucred` after it.
  private struct Control {
    var length = 0
    var level: CInt = 0
    var kind: CInt = 0
    var process: Int32 = 0
    var user: UInt32 = .max
    var group: UInt32 = .max
    var padding: UInt32 = 0
  }

  let descriptor: CInt
  private var buffer = [UInt8](repeating: 0, count: largestMessage)

  init() throws(SystemError) {
    let kind = CInt(SOCK_RAW.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    let descriptor = try SystemError.check(socket(AF_NETLINK, kind, Self.protocolNumber))
    var (yes, room): (CInt, CInt) = (1, 1 << 20)
    _ = setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<CInt>.size))
    var address = Address(groups: Self.kernelGroup | Self.udevGroup)
    let size = socklen_t(MemoryLayout<Address>.size)
    let isBound = withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    }
    guard isBound == 0, setsockopt(descriptor, SOL_SOCKET, SO_PASSCRED, &yes, socklen_t(MemoryLayout<CInt>.size)) == 0
    else {
      let error = SystemError.last
      close(descriptor)
      throw error
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Does not wait.
  mutating func read() throws(SystemError) -> Reading {
    var (address, control, header) = (Address(), Control(), msghdr())
    let count = buffer.withUnsafeMutableBytes { buffer in
      withUnsafeMutablePointer(to: &address) { address in
        withUnsafeMutablePointer(to: &control) { control in
          var piece = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
          return withUnsafeMutablePointer(to: &piece) { piece in
            header.msg_name = UnsafeMutableRawPointer(address)
            header.msg_namelen = socklen_t(MemoryLayout<Address>.size)
            header.msg_iov = piece
            header.msg_iovlen = 1
            header.msg_control = UnsafeMutableRawPointer(control)
            header.msg_controllen = MemoryLayout<Control>.size
            return recvmsg(descriptor, &header, 0)
          }
        }
      }
    }
    guard count >= 0 else {
      switch errno {
      case EAGAIN, EINTR: return .nothing
      case ENOBUFS: return .lost
      default: throw .last
      }
    }
    guard isTrusted(address, control, header) else { return .unknown }
    if header.msg_flags & CInt(MSG_TRUNC) != 0 { return .lost }
    return Uevent(buffer.prefix(count)).map { .event($0) } ?? .unknown
  }

  /// Nobody else than the kernel has port 0. udev is what runs as root; whoever may send to its group could stop it as well.
  private func isTrusted(_ address: Address, _ control: Control, _ header: msghdr) -> Bool {
    guard header.msg_namelen == MemoryLayout<Address>.size, address.family == UInt16(AF_NETLINK) else { return false }
    let hasCredentials =
      header.msg_controllen >= MemoryLayout<Control>.size - 4 && control.level == SOL_SOCKET
      && control.kind == Self.credentialsKind
    switch address.groups {
    case Self.kernelGroup: return address.port == 0
    case Self.udevGroup: return hasCredentials && control.user == 0
    default: return false
    }
  }
}
