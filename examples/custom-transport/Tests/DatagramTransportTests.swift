import Byway
import BywayTesting
import Glibc
import NIOCore
import Testing

@testable import mybyway

@Suite(.serialized) struct DatagramTransportTests {
  @Test("datagrams and the line layer pass the compatibility kit", arguments: TransportCompatibility.Check.allCases)
  func passes(_ check: TransportCompatibility.Check) async throws {
    let link = try TransportRegistry([DatagramTransport()]).link("udp://127.0.0.1:1?from=2")
    var kit = TransportCompatibility(
      link.transport,
      farEnd: .listener {
        let ports = try (Self.freePort(), Self.freePort())
        return try LinkAddress("udp://127.0.0.1:\(ports.0)?from=\(ports.1)")
      })
    kit.linksAtOnce = 1
    kit.bulkByteCount = 1 << 22
    if kit.checks.contains(check) { try await kit.run(check) }
  }

  @Test(
    "an address without an IPv4 address and two ports is refused",
    arguments: [
      "udp:", "udp://127.0.0.1?from=1", "udp://127.0.0.1:1", "udp://127.0.0.1:1?from=0", "udp://127.0.0.1:1?from=65536",
      "udp://[::1]:1?from=2", "udp://host:1?from=2",
    ])
  func refused(_ text: String) {
    let error = #expect(throws: BywayError.self) { try DatagramTransport().check(LinkAddress(text)) }
    #expect(error?.code == .invalidAddress)
  }

  private static func freePort() throws -> Int {
    let descriptor = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) == 0 && getsockname(descriptor, address, &size) == 0
      }
    }
    try #require(isBound)
    return Int(UInt16(bigEndian: address.sin_port))
  }
}
