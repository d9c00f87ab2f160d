import Byway
import BywayHTTPWire
import NIOCore
import NIOEmbedded
import Testing

@testable import BywayProxy

@Suite("Users identified by a certificate") struct UserDeskTests {
  /// A transport whose clients have all shown a certificate.
  private struct CertifyingTransport: Transport {
    let scheme = "certified"
    let options: [LinkOption] = []

    func check(_ address: LinkAddress) throws {}
    func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
      throw BywayError(.linkUnavailable, "Only its certificates are needed.")
    }
    func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
      throw BywayError(.linkUnavailable, "Only its certificates are needed.")
    }
    func certificate(of channel: any Channel) -> [UInt8]? { [1] }
  }

  @Test(
    "a login of the proxy's users is not forwarded with a certificate, and a login at the device is",
    arguments: [("alice", false), ("carol", false), ("erin", false), ("device", true)])
  func logins(_ name: String, _ isForwarded: Bool) throws {
    let loop = EmbeddedEventLoop()
    let channel = EmbeddedChannel(loop: loop)
    defer { _ = try? channel.finish() }
    // The certificate's user has no password here.
    var rules = try UserHouse.rules(rights: "erin = printer")
    rules.certified = { _ in UserName("erin") }
    let desk = UserAuthenticator(rules, PasswordChecker(), on: loop)
    let context = ConnectionContext(channel, by: try TransportRegistry([CertifyingTransport()]).link("certified:x"))
    var fields: FieldSection = [
      ":method": "GET", "authorization": UserHouse.basic(name), "proxy-authorization": UserHouse.basic("carol"),
    ]
    guard case .known(let user) = desk.identify(&fields, isForProxy: false, at: context) else {
      Issue.record("the user is not known")
      return
    }
    #expect(user == .user(try #require(UserName("erin")), by: .certificate))
    #expect(fields.lines.map(fields.name) == (isForwarded ? [":method", "authorization"] : [":method"]))
  }
}
