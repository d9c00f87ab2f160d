import BywayLibC
import BywayPrimitives

/// A socket for device events of the kernel and udev, without libudev: netlink(7), NETLINK_KOBJECT_UEVENT.
///
/// It receives both kinds. udev sends an event after it has set a device's permissions and names; the kernel's events are for
/// systems without udev. An event only causes the ports to be listed again, so duplicates do no harm.
struct UeventSocket: ~Copyable {
  enum Reading: Equatable {
    case event(Uevent)
    /// The sender is not trusted, or the message is invalid.
    case unknown
    /// Messages were lost because they were not read in time (ENOBUFS), or were too large.
    case lost
    case nothing
  }

  // Values of the kernel's headers that Swift does not import.
  private static let protocolNumber: CInt = 15
  private static let credentialsKind: CInt = 2
  private static let kernelGroup: UInt32 = 1
  private static let udevGroup: UInt32 = 2
  /// The kernel's largest event has 2 KiB of properties, and udev's are a few times larger.
  private static let largestMessage = 16 << 10

  /// The layout of `struct sockaddr_nl`.
  private struct Address {
    var family = UInt16(AF_NETLINK)
    var padding: UInt16 = 0
    var port: UInt32 = 0
    var groups: UInt32 = 0
  }

  /// The layout of `struct cmsghdr`, followed by `struct ucred`.
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

  /// Reads the next message without waiting.
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

  /// Whether the sender is the kernel, which alone has port 0, or udev, which runs as root. A process that may send to udev's
  /// group could stop udev as well.
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
