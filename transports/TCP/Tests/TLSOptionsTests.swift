import Byway
import Glibc
import TestPeers
import Testing
import TransportTestSupport

@testable import TCPTransport

/// Tests the files that an address names.
@Suite struct TLSOptionsTests {
  @Test(
    "cert and key are required together, and values must not be empty", arguments: ["cert=a", "key=a", "ca=", "name="])
  func incomplete(_ options: String) {
    #expect(throws: BywayError.self) { try TLSTransport().check(LinkAddress("tls://h:1?\(options)")) }
  }

  @Test(
    "an invalid host name is refused before the link is dialed",
    arguments: [
      "*.example", "a b", "a%00b", "a%0Ab", "a..b", "a:1", "a/b", "%C3%A4.example", String(repeating: "a", count: 300),
    ])
  func hostileNames(_ name: String) {
    let error = #expect(throws: BywayError.self) { try TLSTransport().check(LinkAddress("tls://h:1?name=\(name)")) }
    #expect(error?.code == .invalidAddress)
  }

  @Test("a tls: listener requires a certificate")
  func listenerWithout() async throws {
    let error = await bywayError { try await TLSTransport().listen(on: LinkAddress("tls://[::1]:0"), context: .test()) }
    #expect(error?.message.contains("needs cert=FILE and key=FILE to listen") == true)
  }

  @Test("if a file cannot be used, the error says which and why")
  func files() async throws {
    let ca = try await Certificates()
    let (one, two) = (ca.server, ca.client)
    #expect(throws: Never.self) { try client("ca=\(ca.authority)&\(one.options)") }
    let missing = await bywayError { try client("ca=\(ca.folder["missing.pem"])") }
    #expect(missing?.message == "Cannot read \(ca.folder["missing.pem"]) (ca=): No such file or directory.")
    let noCertificate = await bywayError { try client("ca=\(one.key)") }
    #expect(noCertificate?.message.contains("\(one.key) (ca=) contains a private key, where a certificate") == true)
    let noKey = await bywayError { try client("cert=\(one.cert)&key=\(one.cert)") }
    #expect(noKey?.message.contains("\(one.cert) (key=) contains a certificate, where a private key belongs") == true)
    let mismatch = await bywayError { try client("cert=\(one.cert)&key=\(two.key)") }
    #expect(mismatch?.message.contains("do not belong together") == true)
  }

  @Test("a key that all users may read is refused, and one that only its group may read is accepted")
  func exposedKey() async throws {
    let ca = try await Certificates()
    for (mode, isSecret) in [(0o600, true), (0o400, true), (0o640, true), (0o644, false), (0o604, false)]
      as [(mode_t, Bool)]
    {
      chmod(ca.client.key, mode)
      let error = await bywayError { try client(ca.client.options) }
      if isSecret {
        #expect(error == nil)
      } else {
        let words = "others may read it (mode \(String(mode, radix: 8))), so it is not used: run chmod 600 on it"
        #expect(
          error?.message.contains(ca.client.key) == true && error?.message.contains(words) == true, "\(error as Any)")
      }
    }
  }

  private func client(_ options: String) throws {
    _ = try TLSOptions(LinkAddress("tls://h:1?\(options)")).clientContext()
  }
}
