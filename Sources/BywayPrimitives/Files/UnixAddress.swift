package import BywayLibC

/// The address of a Unix socket (unix(7)).
package struct UnixAddress: Sendable {
  private let address: sockaddr_un
  private let length: socklen_t

  /// - Parameter name: A path from the root, or an @ and the name of an abstract socket. The result is `nil` if it is neither.
  package init?(_ name: String) {
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
    // The length is part of an abstract name; a path ends with a zero byte.
    let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
    length = socklen_t(start + bytes.count + (isAbstract ? 0 : 1))
  }

  package func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }
}
