import BywayLibC
import BywayPrimitives

/// The socket on which a service manager receives notices, one in each datagram.
struct NotificationSocket: Sendable {
  private let address: UnixAddress

  /// - Parameter name: A path, or an @ and the name of an abstract socket. The result is `nil` if it is neither.
  init?(_ name: String) {
    guard let address = UnixAddress(name) else { return nil }
    self.address = address
  }

  /// Sends a notice. Waits at most a second if the manager's queue is full.
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
