import Foundation
import TestPeers
import TestTools
import Testing

/// `byway proxy --inspect-tls`, with a curl that trusts the local authority.
@Suite("TLS inspection", .serialized, .timeLimit(.minutes(3)), .cleansUp) struct InspectTLSTests {
  private let home: BywayHome

  init() throws {
    home = try BywayHome()
  }

  /// - Returns: the file with the authority's certificate.
  private func createAuthority() async throws -> String {
    let created = try await home.byway("trust", "authority", "create")
    #expect(created.exitCode == 0, "\(created.errorText)")
    return try home.folder.write(created.text, to: "authority.pem")
  }

  @Test("the authority is created once, its key is readable by its owner only, and openssl accepts it")
  func authority() async throws {
    let file = try await createAuthority()
    #expect(try await home.byway("trust", "authority", "create").exitCode == 64)
    #expect(try await home.byway("trust", "authority", "show").text == String(contentsOfFile: file, encoding: .utf8))
    let verified = try await Program.openssl.run(["verify", "-x509_strict", "-CAfile", file, file])
    #expect(verified.exitCode == 0, "\(verified.text) \(verified.errorText)")
    let key = "byway/authority/key.pem"
    #expect(try home.folder.permissions(of: key) == 0o600)
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: home.folder[key])
    let open = try await home.byway("trust", "authority", "show")
    #expect(open.exitCode == 66)
    #expect(open.errorText.contains("Others can read"))
    let removed = try await home.byway("trust", "authority", "remove")
    #expect(removed.exitCode == 0 && removed.errorText.contains("keeps the key until it is stopped"))
    #expect(try await home.byway("trust", "authority", "show").errorText.contains("trust authority create"))
  }

  @Test("curl's https is inspected and then verified at the origin, and tunnels to other hosts stay encrypted")
  func inspected() async throws {
    let ca = try await Certificates()
    let authority = try await createAuthority()
    let nginx = try await NginxServer(in: TemporaryFolder(), http2: true, tls: ca.server)
    let port = try #require("\(nginx.endpoint)".split(separator: ":").last)
    let gateway = try await BareGateway(["--allow", "*:*"])
    let proxy = try await BywayProcess.proxy(
      ["--link", "unix:\(gateway.socket)", "--listen", "127.0.0.1:0", "--inspect-tls", "localhost"],
      environment: home.environment)
    #expect(proxy.log.contains("is decrypted here"))
    let via = try ["--proxy", "http://\(proxy.endpoint())"]
    let url = "https://localhost:\(port)/hello"

    // curl sees a generated certificate; the origin is refused until its authority is trusted.
    let refused = try await Curl.fetch(via + ["--cacert", authority, url])
    #expect(refused.status == 502)
    #expect(try refused.problem().words.contains("byway trust add localhost FILE"))
    await proxy.process.stop()

    #expect(try await home.byway("trust", "add", "localhost", ca.authority).exitCode == 0)
    let trusting = try await BywayProcess.proxy(
      ["--link", "unix:\(gateway.socket)", "--listen", "127.0.0.1:0", "--inspect-tls", "localhost"],
      environment: home.environment)
    let again = try ["--proxy", "http://\(trusting.endpoint())"]
    for (version, option) in [("2", "--http2"), ("1.1", "--http1.1")] {
      let answer = try await Curl.fetch(again + [option, "--cacert", authority, url])
      #expect(answer.text == "hello, byway\n", "\(answer.errorText) \(answer.text)")
      #expect(answer.version == version)
      #expect(answer.values("via").isEmpty == false || answer.status == 200)
    }
    // A client that does not trust the local authority fails in the handshake.
    #expect(try await Curl.fetch(again + ["--cacert", ca.authority, url]).exitCode == 60)
    // The address is not inspected: TLS is end to end.
    let direct = try await Curl.fetch(again + ["--cacert", ca.authority, "https://\(nginx.endpoint)/hello"])
    #expect(direct.text == "hello, byway\n", "\(direct.errorText)")
    // A tunnel to one host does not lead to another.
    let other = try await Curl.fetch(again + ["--cacert", authority, "-H", "Host: elsewhere", url])
    #expect(other.status == 421)
    await trusting.process.stop()
    await gateway.stop()
    await nginx.stop()
  }

  @Test("a tunnel to an inspected host without TLS is forwarded unchanged, if the gateway allows it")
  func plain() async throws {
    _ = try await createAuthority()
    let origin = try await OriginServer()
    let gateway = try await BareGateway(["--allow", "\(origin.endpoint)"])
    let proxy = try await BywayProcess.proxy(
      ["--link", "unix:\(gateway.socket)", "--listen", "127.0.0.1:0", "--inspect-tls", "127.0.0.1"],
      environment: home.environment)
    let via = try ["--proxytunnel", "--proxy", "http://\(proxy.endpoint())"]
    let answer = try await Curl.fetch(via + ["http://\(origin.endpoint)/"])
    #expect(answer.status == 200, "\(answer.errorText)")
    let refused = try await Curl.fetch(via + ["http://127.0.0.1:1/"])
    #expect(refused.exitCode != 0)
    _ = try await proxy.process.errorLine(containing: "This gateway does not reach 127.0.0.1:1", within: .seconds(5))
    await proxy.process.stop()
    await gateway.stop()
    await origin.stop()
  }

  @Test(
    "an inspected request goes on over TLS or is refused, in every spelling of its host",
    arguments: ["[::1]", "[0:0::1]", "device.example", "device.example.", "DEVICE.example"])
  func spelling(_ host: String) async throws {
    let authority = try await createAuthority()
    // The origin answers every request that reaches it.
    let gateway = try await BareGateway()
    let proxy = try await BywayProcess.proxy(
      ["--link", "unix:\(gateway.socket)", "--listen", "127.0.0.1:0", "--inspect-tls", "[::1],device.example"],
      environment: home.environment)
    let answer = try await Curl.fetch(
      ["--proxy", "http://\(proxy.endpoint())", "--cacert", authority, "https://\(host)/"])
    #expect(answer.status == 403, "\(answer.text) \(answer.errorText)")
    #expect(answer.text.contains("--allow"), "\(answer.text)")
    await proxy.process.stop()
  }

  @Test("a host that no certificate can contain is refused before the TLS handshake")
  func unnameable() async throws {
    let authority = try await createAuthority()
    let gateway = try await BareGateway(["--allow", "*:*"])
    let proxy = try await BywayProcess.proxy(
      ["--link", "unix:\(gateway.socket)", "--listen", "127.0.0.1:0", "--inspect-tls", "*.internal.example"],
      environment: home.environment)
    let label = String(repeating: "a", count: 64)
    let answer = try await Curl.fetch(
      ["--proxy", "http://\(proxy.endpoint())", "--cacert", authority, "https://\(label).internal.example/"])
    #expect(answer.exitCode == 56)
    #expect(answer.errorText.contains("400"), "\(answer.errorText)")
    await proxy.process.stop()
  }

  @Test("inspection requires an authority")
  func none() async throws {
    let result = try await home.byway(
      "proxy", "--link", "unix:/nowhere", "--listen", "127.0.0.1:0", "--inspect-tls", "localhost")
    #expect(result.exitCode == 66)
    #expect(result.errorText.contains("trust authority create"))
  }
}
