import Foundation
import TestPeers
import TestTools
import Testing

/// `byway trust`, and the commands that use its store.
@Suite("byway trust", .serialized, .timeLimit(.minutes(3))) struct TrustCommandTests {
  private let home: BywayHome

  init() throws {
    home = try BywayHome()
  }

  @Test("byway trust adds, lists and removes certificates and keys per host")
  func store() async throws {
    let ca = try await Certificates()
    let added = try await home.byway("trust", "add", "Device.Example", ca.server.cert)
    #expect(added.exitCode == 0, "\(added.errorText)")
    let print = try await Program.openssl.run(["x509", "-in", ca.server.cert, "-noout", "-fingerprint", "-sha256"]).text
    let fingerprint = try #require(print.split(separator: "=").last).trimmingCharacters(in: .whitespacesAndNewlines)
    let pin = "sha256//" + String(repeating: "A", count: 42) + "8="
    #expect(try await home.byway("trust", "add", "127.0.0.1", pin).exitCode == 0)

    let list = try await home.byway("trust", "list").text
    #expect(list.hasPrefix("127.0.0.1\n  key          \(pin)\ndevice.example\n"), "\(list)")
    #expect(list.contains("names        localhost, 127.0.0.1\n") && list.contains("SHA-256      \(fingerprint)\n"))
    #expect(list.contains("valid until  20"))
    for folder in ["byway", "byway/trust", "byway/trust/device.example"] {
      #expect(try home.folder.permissions(of: folder) == 0o700)
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: home.folder["byway/trust/device.example"])
    #expect(files == [fingerprint.replacingOccurrences(of: ":", with: "").lowercased() + ".pem"])
    for file in files { #expect(try home.folder.permissions(of: "byway/trust/device.example/\(file)") == 0o600) }

    #expect(try await home.byway("trust", "remove", "device.example", "00:11").exitCode == 64)
    #expect(try await home.byway("trust", "remove", "device.example", fingerprint).exitCode == 0)
    #expect(try await home.byway("trust", "remove", "127.0.0.1").exitCode == 0)
    #expect(try await home.byway("trust", "list").text.isEmpty)
  }

  @Test("a certificate without subject alternative names is listed by its common name")
  func commonName() async throws {
    let made = try await Program.openssl.run([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
      "-subj", "/O=Printers/CN=printer-7", "-keyout", home.folder["key.pem"], "-out", home.folder["old.pem"],
    ])
    #expect(made.exitCode == 0, "\(made.errorText)")
    let added = try await home.byway("trust", "add", "printer", home.folder["old.pem"])
    #expect(added.text.contains("names        printer-7\n"), "\(added.text) \(added.errorText)")
  }

  @Test("concurrent byway trust add commands all take effect")
  func concurrent() async throws {
    let ca = try await Certificates()
    let files = [ca.authority, ca.server.cert, ca.client.cert]
    try await withThrowingTaskGroup(of: CommandResult.self) { group in
      for file in files + files { group.addTask { try await home.byway("trust", "add", "device", file) } }
      for try await result in group { #expect(result.exitCode == 0, "\(result.errorText)") }
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: home.folder["byway/trust/device"])
    #expect(names.count == 3 && names.allSatisfy { $0.hasSuffix(".pem") }, "\(names)")
  }

  @Test("byway trust refuses an invalid host or certificate, and a folder that other users can write to")
  func refused() async throws {
    let ca = try await Certificates()
    #expect(try await home.byway("trust", "add", "../x", ca.authority).exitCode == 64)
    for host in ["device:8443", "[::1]:8443"] {
      let port = try await home.byway("trust", "add", host, ca.authority)
      #expect(port.exitCode == 64)
      #expect(port.errorText.contains("write \(host.dropLast(5))."), "\(port.errorText)")
    }
    #expect(try await home.byway("trust", "add", "::1", ca.authority).exitCode == 0)
    let missing = try await home.byway("trust", "add", "device", home.folder["none.pem"])
    #expect(missing.exitCode == 66)
    #expect(missing.errorText.contains("none.pem: No such file"), "\(missing.errorText)")
    let key = try await home.byway("trust", "add", "device", ca.server.key)
    #expect(key.errorText.contains("where a certificate belongs"), "\(key.errorText)")
    #expect(try await home.byway("trust", "add", "device", ca.authority).exitCode == 0)
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: home.folder["byway/trust/device"])
    let open = try await home.byway("trust", "list")
    #expect(open.exitCode == 66)
    #expect(open.errorText.contains("Others can write to"))
  }

  @Test("byway trust fetches a certificate through a link, shows it, and adds it after confirmation")
  func fetch() async throws {
    let ca = try await Certificates()
    let nginx = try await NginxServer(in: TemporaryFolder(), http2: true, tls: ca.server)
    let gateway = try await BareGateway(["--allow", "\(nginx.endpoint)"])
    let arguments = ["trust", "add", "\(nginx.endpoint)", "--link", "unix:\(gateway.socket)"]
    func byway(_ arguments: [String]) async throws -> CommandResult {
      try await BywayProcess.run(arguments, environment: home.environment)
    }
    let unasked = try await byway(arguments)
    #expect(unasked.exitCode == 64 && unasked.errorText.contains("add --yes"), "\(unasked.errorText)")
    #expect(try await home.byway("trust", "list").text.isEmpty)
    let print = try await Program.openssl.run(["x509", "-in", ca.server.cert, "-noout", "-fingerprint", "-sha256"]).text
    let fingerprint = try #require(print.split(separator: "=").last).trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(unasked.errorText.contains("SHA-256      \(fingerprint)"), "\(unasked.errorText)")
    #expect(
      unasked.errorText.contains("names        localhost, 127.0.0.1\n") && unasked.errorText.contains("valid until  20")
    )

    let added = try await byway(arguments + ["--yes"])
    #expect(added.exitCode == 0, "\(added.errorText)")
    let answer = try await byway(["request", "--link", "unix:\(gateway.socket)", "https://\(nginx.endpoint)/hello"])
    #expect(answer.text == "hello, byway\n", "\(answer.errorText)")
    let closed = try await byway(["trust", "add", "127.0.0.1:1", "--link", "unix:\(gateway.socket)", "--yes"])
    #expect(closed.exitCode == 69 && closed.errorText.contains("does not reach 127.0.0.1:1"), "\(closed.errorText)")
    #expect(try await home.byway("trust", "add", "device").errorText.contains("add --link"))
    await gateway.stop()
    await nginx.stop()
  }

  @Test("byway trust asks for confirmation on a terminal, and only yes confirms")
  func asks() async throws {
    let ca = try await Certificates()
    let nginx = try await NginxServer(in: TemporaryFolder(), tls: ca.server)
    let gateway = try await BareGateway(["--allow", "\(nginx.endpoint)"])
    let arguments = ["trust", "add", "\(nginx.endpoint)", "--link", "unix:\(gateway.socket)"]
    let refused = try await TerminalRun.of(arguments, ["[y/N]", "n\n"])
    #expect(refused.status == 64 && refused.output.contains("Nothing was added."), "\(refused.output)")
    await gateway.stop()
    await nginx.stop()
  }

  @Test("byway request trusts an added certificate for its host until it is removed")
  func request() async throws {
    let ca = try await Certificates()
    let nginx = try await NginxServer(in: TemporaryFolder(), http2: true, tls: ca.server)
    let gateway = try await BareGateway(["--allow", "\(nginx.endpoint)"])
    func request(_ options: String...) async throws -> CommandResult {
      let arguments = ["request", "--link", "unix:\(gateway.socket)"] + options + ["https://\(nginx.endpoint)/hello"]
      return try await BywayProcess.run(arguments, environment: home.environment)
    }
    let refused = try await request()
    #expect(refused.exitCode == 69)
    #expect(refused.errorText.contains("byway trust add 127.0.0.1 FILE"), "\(refused.errorText)")
    #expect(try await request("--trust", ca.authority).text == "hello, byway\n")
    #expect(try await home.byway("trust", "add", "127.0.0.1", ca.authority).exitCode == 0)
    let accepted = try await request()
    #expect(accepted.text == "hello, byway\n", "\(accepted.errorText)")
    #expect(try await home.byway("trust", "remove", "127.0.0.1").exitCode == 0)
    #expect(try await request().exitCode == 69)
    await gateway.stop()
    await nginx.stop()
  }

  @Test("a gateway trusts an added certificate, presents its own, and verifies --peer-name")
  func gateway() async throws {
    let ca = try await Certificates()
    let named = try await ca.issue("named", names: "DNS:site.example")
    let nginx = try await NginxServer(in: TemporaryFolder(), tls: named, clientAuthority: ca.authority)
    #expect(try await home.byway("trust", "add", "127.0.0.1", ca.authority).exitCode == 0)
    let socket = home.folder["link"]
    func answer(_ options: String...) async throws -> CurlAnswer {
      let gateway = try await BywayProcess.gateway(
        ["--link", "unix:\(socket)", "--origin", "https://\(nginx.endpoint)"] + options, environment: home.environment)
      let answer = try await Curl.fetch("--http2-prior-knowledge", "--unix-socket", socket, "http://device/hello")
      await gateway.process.stop()
      return answer
    }
    let nameless = try await answer().problem()
    #expect(nameless.words.contains("--peer-name"), "\(nameless.words)")
    // nginx rejects a client without a certificate with its own page.
    #expect(try await answer("--peer-name", "site.example").status == 400)
    let identity = ["--client-cert", ca.client.cert, "--client-key", ca.client.key]
    let right = try await answer("--peer-name", "site.example", identity[0], identity[1], identity[2], identity[3])
    #expect(right.text == "hello, byway\n", "\(right.text)")
    await nginx.stop()

    let plain = try await home.byway(
      "gateway", "--link", "unix:\(socket)", "--origin", "http://127.0.0.1:1", "--peer-name", "x")
    #expect(plain.exitCode == 64)
    #expect(plain.errorText.contains("are for an origin of https://"))
  }
}
