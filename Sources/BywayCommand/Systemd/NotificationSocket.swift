import Glibc
import Primitives

/// Where a service manager takes notices, one datagram each.
struct NotificationSocket: Sendable {
  private let address: sockaddr_un
  private let length: socklen_t

  /// - Parameter name: a path, or behind an @ the name of an abstract socket (unix(7)); `nil` where it is neither.
  init?(_ name: String) {
    let bytes = Array(name.utf8)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let isAbstract = bytes.first == UInt8(ascii: "@")
    guard isAbstract || bytes.first == UInt8(ascii: "/"), bytes.count > 1,
      bytes.count < MemoryLayout.size(ofValue: address.sun_path)
    else { return nil }
    withUnsafeMutableBytes(of: &address.sun_path) { path in
      path.copyBytes(from: bytes)
      if isAbstract { path[0] = 0 }
    }
    self.address = address
    // The length is part of an abstract name; a path ends with its zero.
    let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
    length = socklen_t(start + bytes.count + (isAbstract ? 0 : 1))
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
      let sent = withUnsafePointer(to: address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          sendto(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL), $0, length)
        }
      }
      if sent >= 0 { return }
      if errno != EINTR { throw .last }
    }
  }
}
