import Foundation
import Synchronization
import TestTools

/// The address that a peer listens on.
package enum Endpoint: Sendable, Hashable, CustomStringConvertible {
  case unix(String)
  case tcp(Int)

  /// The address as `byway --origin` and the scripts read it: `unix:PATH` or `127.0.0.1:PORT`.
  package var description: String {
    switch self {
    case .unix(let path): "unix:\(path)"
    case .tcp(let port): "127.0.0.1:\(port)"
    }
  }

  package init?(_ text: some StringProtocol) {
    if text.hasPrefix("unix:") {
      self = .unix(String(text.dropFirst(5)))
    } else if let port = text.split(separator: ":").last.flatMap({ Int($0) }) {
      self = .tcp(port)
    } else {
      return nil
    }
  }

  /// The TCP port; `nil` for a Unix socket.
  package var port: Int? {
    if case .tcp(let port) = self { port } else { nil }
  }

  /// The ports already returned in this process: tests run in parallel.
  private static let given = Mutex<Set<Int>>([])

  /// Returns an unused port, a different one for each call.
  ///
  /// The port is below the range from which the kernel chooses ports: any outgoing connection or `bind` to port 0 could take
  /// a port of that range before the peer binds it.
  package static func freePort() throws -> Int {
    let firstOfKernel = firstPortOfKernel()
    for _ in 0..<1000 {
      let port = Int.random(in: min(10_000, firstOfKernel / 2)..<firstOfKernel)
      if isFree(port), given.withLock({ $0.insert(port).inserted }) { return port }
    }
    throw PeerFailure("no port below \(firstOfKernel) is free that was not given before")
  }

  /// The lower end of `net.ipv4.ip_local_port_range`.
  private static func firstPortOfKernel() -> Int {
    let text = try? String(contentsOfFile: "/proc/sys/net/ipv4/ip_local_port_range", encoding: .utf8)
    let first = text?.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) } ?? 32_768
    return max(2048, first)
  }

  private static func isFree(_ port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var address = loopback(port: port)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  /// Waits until a listener accepts connections at this address.
  package func waitUntilReachable(by child: ChildProcess, within limit: Duration = .seconds(10)) async throws {
    let isReachable = try await eventually(within: limit) {
      if accepts() { return true }
      if let exit = child.exit { throw PeerFailure("\(child.name) ended (\(exit)): \(child.errorText)") }
      return false
    }
    guard isReachable else {
      throw PeerFailure("\(child.name) does not listen on \(self) after \(limit): \(child.errorText)")
    }
  }

  private func accepts() -> Bool {
    switch self {
    case .unix(let path):
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      defer { close(descriptor) }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      let bytes = Array(path.utf8)
      guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
      return Self.connects(descriptor, &address)
    case .tcp(let port):
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      defer { close(descriptor) }
      var address = Self.loopback(port: port)
      return Self.connects(descriptor, &address)
    }
  }

  private static func connects<Address>(_ descriptor: Int32, _ address: inout Address) -> Bool {
    withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size)) == 0
      }
    }
  }

  private static func loopback(port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(truncatingIfNeeded: port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    return address
  }
}
