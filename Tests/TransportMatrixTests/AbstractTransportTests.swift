import Byway
import BywayTesting
import Glibc
import Testing
import UnixTransport

/// The example of docs/writing-a-transport.md. Here so that nothing else runs at the same time.
extension TransportMatrixTests {
  @Suite(.serialized) struct AbstractTransportTests {
    @Test("the transport passes the compatibility kit", arguments: TransportCompatibility.Check.allCases)
    func passes(_ check: TransportCompatibility.Check) async throws {
      var kit = TransportCompatibility(
        AbstractTransport(), farEnd: .listener { try LinkAddress("abstract:kit-\(getpid())") })
      kit.refusing = try LinkAddress("abstract:nobody-\(getpid())")
      if kit.checks.contains(check) { try await kit.run(check) }
    }
  }

  @Test("the example transport's scheme is accepted in an address")
  func scheme() throws {
    let registry = TransportRegistry([UnixTransport(), AbstractTransport()])
    let link = try registry.link("abstract:link")
    #expect(link.address.path == "link")
  }
}
