import Glibc
import Primitives

/// Where a service manager takes notices, one datagram each.
struct NotificationSocket: Sendable {
  private let address: UnixAddress

  /// - Parameter name: a path, or behind an @ the name of an abstract socket; `nil` where it is neither.
  init?(_ name: String) {
    guard let address = UnixAddress(name) else { return nil }
    self.address = address
  }

  /// Waits a second at most, where the manager has more to read than it can hold.
  func send(_ notice: ServiceNotice) throws(SystemError) {
    let descriptor = try SystemError.check(
      socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
    defer { close(descriptor) }
    var patience = timeval(tv_sec: 1, tv_usec: 0)
    try SystemError.check(
      setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size)))
    let bytes = Array(notice.text.utf8)
    while true {
      let sent = address.withPointer { sendto(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL), $0, $1) }
      if sent >= 0 { return }
      if errno != EINTR { throw .last }
    }
  }
}
