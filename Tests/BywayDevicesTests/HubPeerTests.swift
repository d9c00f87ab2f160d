import Byway
import BywayDevices
import NIOCore
import Testing

@Suite("Machines that dial a hub") struct HubPeerTests {
  private func peer(_ address: String) throws -> HubPeer {
    HubPeer(try SocketAddress(ipAddress: address, port: 1))
  }

  @Test("IPv4 machines that reach an IPv6 listener are different peers")
  func mapped() throws {
    #expect(try peer("::ffff:192.0.2.7") == peer("192.0.2.7"))
    #expect(try peer("::ffff:192.0.2.7") != peer("::ffff:192.0.2.8"))
  }

  @Test("the addresses of one IPv6 network are one peer")
  func network() throws {
    #expect(try peer("2001:db8:1:2::7") == peer("2001:db8:1:2:ffff::1"))
    #expect(try peer("2001:db8:1:2::7") != peer("2001:db8:1:3::7"))
    #expect(HubPeer(nil as SocketAddress?) == .local)
  }
}
