import Foundation
import TestPeers
import TestTools
import Testing
import X509

@testable import BywayCommand

/// `byway certificate`, as openssl, nginx, curl and the command itself verify what it makes.
@Suite("byway certificate", .timeLimit(.minutes(3))) struct CertificateCommandTests {
  private let home: BywayHome

  init() throws {
    home = try BywayHome()
  }

  @discardableResult
  private func make(_ arguments: String...) async throws -> CommandResult {
    let result = try await BywayProcess.run(
      ["certificate"] + arguments + ["--folder", home.folder.path], environment: home.environment)
    #expect(result.exitCode == 0, "\(arguments): \(result.errorText)")
    return result
  }

  private func refusal(_ arguments: String...) async throws -> CommandResult {
    try await BywayProcess.run(
      ["certificate"] + arguments + ["--folder", home.folder.path], environment: home.environment)
  }

  private func verify(_ name: String, _ options: String...) async throws -> Int32 {
    let files = ["-CAfile", home.folder["ca.pem"], home.folder["\(name).pem"]]
    return try await Program.openssl.run(["verify"] + options + files).exitCode
  }

  private func text(of name: String) async throws -> String {
    let shown = try await Program.openssl.run(["x509", "-in", home.folder["\(name).pem"], "-noout", "-text"]).text
    return shown.split(separator: "\n").map { $0.drop(while: \.isWhitespace) }.joined(separator: "\n")
  }

  private func options(_ name: String) -> String {
    "cert=\(home.folder["\(name).pem"])&key=\(home.folder["\(name).key"])&ca=\(home.folder["ca.pem"])"
  }

  @Test("openssl accepts a device for its names and both ends of TLS, and a user as a client only")
  func verified() async throws {
    try await make("authority", "Our devices")
    try await make("device", "printer", "--dns", "*.hall.example", "--address", "192.0.2.7", "--address", "2001:db8::7")
    try await make("user", "alice")
    for host in ["printer", "printer.localhost", "x.hall.example"] {
      #expect(
        try await verify("printer", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", host) == 0, "\(host)")
    }
    for address in ["192.0.2.7", "2001:db8::7"] {
      #expect(try await verify("printer", "-purpose", "sslserver", "-verify_ip", address) == 0, "\(address)")
    }
    #expect(try await verify("printer", "-purpose", "sslclient") == 0)
    #expect(try await verify("printer", "-verify_hostname", "camera") != 0)
    #expect(try await verify("alice", "-x509_strict", "-purpose", "sslclient") == 0)
    #expect(try await verify("alice", "-purpose", "sslserver") != 0)
    let authority = try await text(of: "ca")
    #expect(
      authority.contains("Subject: CN = Our devices\n") && authority.contains("CA:TRUE, pathlen:0"), "\(authority)")
    for name in ["ca", "printer", "alice"] { #expect(try await text(of: name).contains("NIST CURVE: P-256")) }
    #expect(try await !text(of: "printer").contains("CA:TRUE"))
  }

  /// Returns the days for which a certificate is valid, rounded up.
  private func days(_ name: String) throws -> Int {
    let text = try String(contentsOfFile: home.folder["\(name).pem"], encoding: .utf8)
    let certificate = try Certificate(pemEncoded: text)
    return Int((certificate.notValidAfter.timeIntervalSince(certificate.notValidBefore) / 86_400).rounded(.up))
  }

  @Test("certificates are valid for the chosen days, and not beyond the authority's")
  func days() async throws {
    try await make("authority")
    try await make("device", "printer")
    try await make("user", "alice")
    try await make("user", "bob", "--days", "7")
    // An hour of the authority's is before its creation.
    #expect(try days("ca") == 3651 && days("printer") == 825 && days("alice") == 398 && days("bob") == 7)
    try await make("authority", "--days", "30", "--force")
    try await make("device", "camera")
    #expect(try days("camera") == 31)
    #expect(try await verify("camera") == 0)
    for days in ["0", "-1", "36501", "x"] { #expect(try await refusal("user", "carol", "--days", days).exitCode == 64) }
  }

  @Test("keys are readable by their owner only, whatever the umask, and no draft remains")
  func modes() async throws {
    let script = "umask 000; for a in authority 'device printer' 'user alice'; do \"$0\" certificate $a || exit; done"
    let made = try await Program.bash.run(
      ["-c", "cd \"$1\" && \(script)", BywayProcess.command(), home.folder.path], environment: home.environment)
    #expect(made.exitCode == 0, "\(made.errorText)")
    for name in ["ca", "printer", "alice"] {
      #expect(try home.folder.permissions(of: "\(name).key") == 0o600)
      #expect(try home.folder.permissions(of: "\(name).pem") == 0o644)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.folder.path).count == 6)
  }

  private func contents() throws -> [String] { try [content("printer.pem"), content("printer.key")] }

  private func content(_ name: String) throws -> String {
    try String(contentsOfFile: home.folder[name], encoding: .utf8)
  }

  @Test(
    "existing files stay as they are without --force, also if only one of the two exists", arguments: ["pem", "key"])
  func existing(_ kind: String) async throws {
    try await make("authority")
    try await make("device", "printer")
    let before = try contents()
    #expect(try await refusal("device", "printer").exitCode == 73)
    #expect(try await refusal("authority").exitCode == 73)
    #expect(try contents() == before)
    try FileManager.default.removeItem(atPath: home.folder["printer.\(kind)"])
    let refused = try await refusal("device", "printer")
    #expect(refused.exitCode == 73 && refused.errorText.contains("exists already: --force"), "\(refused.errorText)")
    #expect(!FileManager.default.fileExists(atPath: home.folder["printer.\(kind)"]))
    try await make("device", "printer", "--force")
    #expect(try content("printer.key") != before[1])
    #expect(try await verify("printer") == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.folder.path).count == 4)
  }

  @Test("a symbolic link in the place of a file is not followed", arguments: [false, true])
  func links(force: Bool) async throws {
    try await make("authority")
    let target = home.folder["target"]
    try "mine".write(toFile: target, atomically: true, encoding: .utf8)
    try FileManager.default.createSymbolicLink(atPath: home.folder["alice.key"], withDestinationPath: target)
    if force {
      try await make("user", "alice", "--force")
    } else {
      #expect(try await refusal("user", "alice").exitCode == 73)
    }
    #expect(try content("target") == "mine")
    if force { #expect(try home.folder.permissions(of: "alice.key") == 0o600) }
  }

  @Test(
    "an invalid name, and one that cannot be the name of a file, are refused",
    arguments: [
      ["device", "a b"], ["device", "../x"], ["device", "ca"], ["device", "x", "--dns", "192.0.2.1"],
      ["device", "x", "--address", "name"], ["device", "x", "--dns", "*"], ["user", "../x"], ["user", ".x"],
      ["user", "a:b"],
      ["user", "ca"], ["user", ""], ["user", String(repeating: "x", count: 65)], ["authority", ""],
      ["authority", String(repeating: "x", count: 65)],
    ])
  func names(_ arguments: [String]) async throws {
    if arguments[0] != "authority" { try await make("authority") }
    let result = try await BywayProcess.run(
      ["certificate"] + arguments + ["--folder", home.folder.path], environment: home.environment)
    #expect(result.exitCode == 64, "\(arguments): \(result.errorText)")
  }

  @Test(
    "a proxy identifies the user of a certificate by the name that it was made for",
    arguments: ["alice", "M\u{FC}ller", "al@home.example"])
  func user(_ name: String) async throws {
    try await make("authority")
    try await make("user", name)
    let certificate = try Certificate(pemEncoded: content("\(name).pem"))
    #expect(try CertificateUser.name(in: [UInt8](certificate.serializeAsPEM().derBytes))?.text == name)
    try await make("device", "printer")
    let device = try Certificate(pemEncoded: content("printer.pem"))
    #expect(try CertificateUser.name(in: [UInt8](device.serializeAsPEM().derBytes)) == nil)
  }

  @Test(
    "an authority made by openssl can be used; a certificate of a device, or a key with read permission, is refused")
  func foreign() async throws {
    let missing = try await refusal("device", "printer")
    #expect(
      missing.exitCode == 66 && missing.errorText.contains("byway certificate authority --folder"),
      "\(missing.errorText)")
    let made = try await Program.openssl.run([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650",
      "-subj", "/CN=Our devices", "-keyout", home.folder["ca.key"], "-out", home.folder["ca.pem"],
    ])
    #expect(made.exitCode == 0, "\(made.errorText)")
    #expect(chmod(home.folder["ca.key"], 0o640) == 0)
    #expect(try await refusal("device", "printer").exitCode == 66)
    #expect(chmod(home.folder["ca.key"], 0o600) == 0)
    try await make("device", "printer")
    #expect(try await verify("printer", "-verify_hostname", "printer") == 0)
    for kind in ["pem", "key"] {
      try FileManager.default.removeItem(atPath: home.folder["ca.\(kind)"])
      try FileManager.default.moveItem(atPath: home.folder["printer.\(kind)"], toPath: home.folder["ca.\(kind)"])
    }
    let leaf = try await refusal("device", "camera")
    #expect(leaf.exitCode == 66 && leaf.errorText.contains("not that of an authority"), "\(leaf.errorText)")
    try "nonsense".write(toFile: home.folder["ca.pem"], atomically: true, encoding: .utf8)
    #expect(try await refusal("device", "camera").exitCode == 66)
  }

  @Test("nginx and curl use a device's certificate and a user's, and nginx refuses a client without one")
  func foreignPrograms() async throws {
    try await make("authority")
    try await make("device", "localhost")
    try await make("user", "alice")
    let nginx = try await NginxServer(
      in: TemporaryFolder(),
      tls: .init(cert: home.folder["localhost.pem"], key: home.folder["localhost.key"], in: home.folder),
      clientAuthority: home.folder["ca.pem"])
    let url = "https://localhost:\(nginx.endpoint.port ?? 0)/hello"
    let login = ["--cert", home.folder["alice.pem"], "--key", home.folder["alice.key"]]
    let ca = ["-sS", "--cacert", home.folder["ca.pem"]]
    let answer = try await Program.curl.run(ca + login + [url])
    #expect(answer.text == "hello, byway\n", "\(answer.errorText)")
    #expect(try await Program.curl.run(ca + [url]).text.contains("400 No required SSL certificate"))
    await nginx.stop()
  }

  @Test("the command for a hub is printed for a device with a name that a hub accepts")
  func dialing() async throws {
    _ = try await make("authority")
    let camera = try await make("device", "camera").text
    #expect(
      camera.contains(
        "\n  byway gateway --name camera --origin http://127.0.0.1:80 --link 'tls://HUB:7000?open=dial&cert=\(home.folder["camera.pem"])&"
      ),
      "\(camera)")
    #expect(camera.contains("\nIf the device has a service of https"), "\(camera)")
    let hub = try await make("device", "hub.example").text
    #expect(!hub.contains("open=dial") && hub.contains("\nIf the device has a service of https"), "\(hub)")
  }

  @Test("the printed commands work: a gateway that accepts users of the authority only, a request, and trust")
  func printed() async throws {
    let authority = try await make("authority").text
    #expect(authority.contains("byway certificate device --folder \(home.folder.path) NAME\n"), "\(authority)")
    let device = try await make("device", "localhost").text
    let user = try await make("user", "alice").text
    let link = String(
      try #require(device.firstMatch(of: #/byway gateway --origin \S+ --link '(tls:[^']+)'/#)?.1, "\(device)"))
    let dial = String(try #require(user.firstMatch(of: #/byway request --link '(tls:[^']+)' \S+/#)?.1, "\(user)"))
    let trust = try #require(device.firstMatch(of: #/byway (trust add localhost \S+ca\.pem)/#)?.1, "\(device)")

    let origin = try await NginxServer(in: TemporaryFolder())
    let gateway = try await BywayProcess.gateway(
      ["--origin", "http://\(origin.endpoint)", "--link", link.replacing("0.0.0.0:7000", with: "127.0.0.1:0")])
    let port = try #require(gateway.ready.firstMatch(of: #/127\.0\.0\.1:(\d+)/#)?.1, "\(gateway.ready)")
    let place = "localhost:\(port)"
    let answer = try await home.byway(
      "request", "--link", dial.replacing("NAME:7000", with: place), "http://localhost/hello")
    #expect(answer.text == "hello, byway\n", "\(answer.errorText)")
    let anonymous = try await home.byway(
      "request", "--link", "tls://\(place)?ca=\(home.folder["ca.pem"])", "http://localhost/hello")
    #expect(anonymous.exitCode != 0)
    let added = try await BywayProcess.run(trust.split(separator: " ").map(String.init), environment: home.environment)
    #expect(added.exitCode == 0, "\(added.errorText)")
    #expect(try await home.byway("trust", "list").text.hasPrefix("localhost\n"))
    gateway.terminate()
    await origin.stop()
  }
}
