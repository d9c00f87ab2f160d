import NIOCore
import Testing

@testable import BywayProxy

@Suite("Addresses of clients") struct ConnectionContextTests {
  @Test(
    "IPv6 addresses of one network count as one client address, and every IPv4 address as its own",
    arguments: [
      ("192.0.2.7", nil), ("2001:db8:1:2::7", "20010db800010002/64"), ("2001:db8:1:2:ffff::1", "20010db800010002/64"),
      ("2001:db8:1:3::7", "20010db800010003/64"), ("::ffff:192.0.2.7", "192.0.2.7"), ("::1", "0000000000000000/64"),
    ])
  func network(address: String, network: String?) throws {
    #expect(ConnectionContext.network(of: try SocketAddress(ipAddress: address, port: 1)) == network)
  }
}
