import Byway
import BywayDoctor
import BywayGateway
import Foundation
import HTTPTypes
import SSHTransport
import TestPeers
import TestTools
import Testing
import TransportTestSupport
import UnixTransport

/// Links through a real sshd, working and failing.
@Suite("Doctor: SSH", .timeLimit(.minutes(3))) struct SSHDoctorTests: ExaminingSuite {
  let transports = TransportRegistry([UnixTransport(), SSHTransport()])

  /// Runs a body with a new server.
  private func withServer(_ configuration: String..., body: (SSHServer) async throws -> Void) async throws {
    let server = try await SSHServer(in: TemporaryFolder(), configuration.joined(separator: "\n"))
    do { try await body(server) } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  /// Returns an address with other login options.
  private func address(_ place: String, at server: SSHServer, _ options: String) -> String {
    "\(server.base)\(place)\(place.contains("?") ? "&" : "?")\(options)"
  }

  private func known(_ server: SSHServer) -> String { "known_hosts=\(server.folder["known_hosts"])" }

  @Test("the doctor reports a gateway behind a login as sound, and does not store an unknown host key")
  func sound() async throws {
    try await withServer { server in
      let path = server.folder["s"]
      let gateway = try await Gateway.start(
        GatewayConfiguration(
          links: [try transports.link("unix:\(path)")], origin: .handler { _ in Response(status: .ok) }))
      let report = try await examine(server.address(path))
      #expect(report.expects(nil), "\(report.json)")
      let new = server.folder["new"]
      let noted = try await examine(
        address(
          path, at: server,
          "identity=\(server.folder["user"])&config=none&known_hosts=\(new)&host-key-checking=accept-new"))
      #expect(noted.expects(.unknownHost) && noted.isUsable, "\(noted.json)")
      #expect(!FileManager.default.fileExists(atPath: new))
      await gateway.stop(within: .zero)
    }
  }

  @Test("the doctor reports a gateway behind a login whose origin is unreachable")
  func noOrigin() async throws {
    try await withServer { server in
      let path = server.folder["s"]
      let gateway = try await Gateway.start(
        GatewayConfiguration(links: [try transports.link("unix:\(path)")], origin: Origin("unix:\(server.folder["o"])"))
      )
      let report = try await examine(server.address(path))
      #expect(report.expects(.noOrigin), "\(report.json)")
      await gateway.stop(within: .zero)
    }
  }

  // MARK: Reaching the server

  @Test("the doctor reports an unknown host name and suggests a similar one")
  func unknownName() async throws {
    let folder = try TemporaryFolder()
    // The name is longer than DNS allows, so that no name server is queried.
    let name = String(repeating: "x", count: 64)
    try folder.write("Host device\n  Port 2222\nHost *\n  HostName \(name)\n", to: "c")
    let report = try await examine("ssh://devise/s?config=\(folder["c"])")
    #expect(report.expects(.unknownName) && report.line.contains("Did you mean \"device\"?"), "\(report.json)")
  }

  @Test("the doctor reports an SSH port without a listener, and a host that does not respond")
  func unreachable() async throws {
    let (unused, silent) = (try UnusedPort(), try SilentPort())
    for (port, fault) in [(unused.port, LinkFault.nobodyListens), (silent.port, .noAnswer)] {
      let report = try await examine("ssh://me@127.0.0.1:\(port)/s?config=none")
      #expect(report.expects(fault), "\(report.json)")
    }
    withExtendedLifetime((unused, silent)) {}
  }

  @Test("the doctor reports an invalid line of ssh_config")
  func badSettings() async throws {
    let folder = try TemporaryFolder()
    try folder.write("Host *\n  Port many\n", to: "c")
    let report = try await examine("ssh://me@127.0.0.1/s?config=\(folder["c"])")
    #expect(report.expects(.badSettings) && report.line.contains("\(folder["c"]):2"), "\(report.json)")
  }

  @Test("the doctor reports that an SSH port has another server: web, TLS, mail or unknown")
  func unexpectedPeers() async throws {
    for (words, fault) in [
      ("HTTP/1.1 400 Bad Request\r\n\r\n", LinkFault.wrongScheme),
      ("\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\u{46}", .wrongScheme),
      ("220 mx.test ESMTP\r\n", .wrongScheme), ("", .notSSH),
    ] {
      let server = try await WordyServer(words)
      let report = try await examine("ssh://me@127.0.0.1:\(server.port)/s?config=none&known_hosts=/dev/null")
      #expect(report.expects(fault), "\(words.debugDescription) \(report.json)")
      await server.stop()
    }
  }

  @Test("the doctor tells a busy SSH server from another kind of server")
  func busy() async throws {
    for words in ["Exceeded MaxStartups\r\n", "Not allowed at this time\r\n"] {
      let server = try await WordyServer(words)
      let report = try await examine("ssh://me@127.0.0.1:\(server.port)/s?config=none&known_hosts=/dev/null")
      #expect(report.expects(.serverBusy), "\(report.json)")
      await server.stop()
    }
  }

  @Test("the doctor lists both sides' ciphers if they have none in common")
  func noCipher() async throws {
    try await withServer("Ciphers chacha20-poly1305@openssh.com") { server in
      let report = try await examine(server.address("/s"))
      #expect(report.expects(.noCommonAlgorithm), "\(report.json)")
      #expect(report.line.contains("chacha20-poly1305") && report.line.contains("aes128-ctr"))
    }
  }

  // MARK: Host key

  @Test("the doctor reports an unknown host key with the command that adds it, and writes nothing")
  func unknownHost() async throws {
    try await withServer { server in
      let file = server.folder["new"]
      let report = try await examine(
        address("/s", at: server, "identity=\(server.folder["user"])&config=none&known_hosts=\(file)"))
      #expect(report.expects(.unknownHost) && !report.isUsable, "\(report.json)")
      #expect(report.line.hasSuffix("Run: ssh-keyscan -p \(server.port) 127.0.0.1 >> \(file)"))
      #expect(!FileManager.default.fileExists(atPath: file))
    }
  }

  @Test("the doctor reports a changed host key and a revoked one")
  func otherKey() async throws {
    try await withServer { server in
      let (file, key) = (server.folder["known_hosts"], server.folder["host.pub"])
      let own = try String(contentsOfFile: key, encoding: .utf8)
      let other = try String(contentsOfFile: server.folder["user.pub"], encoding: .utf8)
      let changed = try server.folder.write("[127.0.0.1]:\(server.port) \(other)", to: "changed")
      let revoked = try server.folder.write("@revoked [127.0.0.1]:\(server.port) \(own)", to: "revoked")
      for (file, fault) in [(changed, LinkFault.changedHostKey), (revoked, .revokedHostKey)] {
        let report = try await examine(
          address("/s", at: server, "identity=\(server.folder["user"])&config=none&known_hosts=\(file)"))
        #expect(report.expects(fault), "\(report.json)")
        let command = "Run: ssh-keygen -R '[127.0.0.1]:\(server.port)' -f \(changed)"
        #expect(report.line.hasSuffix(command) == (fault == .changedHostKey), "\(report.line)")
      }
      #expect(FileManager.default.fileExists(atPath: file))
    }
  }

  // MARK: Login

  @Test("the doctor reports a private key that is readable by others, missing, encrypted or unknown to the server")
  func keys() async throws {
    try await withServer { server in
      let folder = server.folder
      for name in ["exposed", "unknown"] { try await SSHServer.makeKey(at: folder[name]) }
      chmod(folder["exposed"], 0o644)
      let locked = try await Program.sshKeygen.run(["-q", "-t", "ed25519", "-N", "sesame", "-f", folder["locked"]])
      try #require(locked.exitCode == 0)
      try folder.write(
        String(contentsOfFile: folder["user.pub"], encoding: .utf8)
          + String(contentsOfFile: folder["locked.pub"], encoding: .utf8), to: "authorized_keys")
      for (name, fault, command) in [
        ("exposed", LinkFault.exposedKey, "chmod 600 \(folder["exposed"])"), ("missing", .noKeyFile, nil),
        ("locked", .lockedKey, "ssh-add \(folder["locked"])"),
        ("unknown", .loginRefused, "ssh-copy-id -i \(folder["unknown"]) -p \(server.port) \(server.user)@127.0.0.1"),
      ] {
        let report = try await examine(
          address("/s", at: server, "identity=\(folder[name])&config=none&\(known(server))"))
        #expect(report.expects(fault), "\(report.json)")
        #expect("\(report.json)".contains("Refused") == false || name != "locked", "\(report.json)")
        if let command { #expect(report.line.hasSuffix("Run: \(command)"), "\(report.line)") }
        #expect(!"\(report.json)".contains("sesame"))
      }
    }
  }

  @Test("the doctor reports a wrong passphrase without printing it")
  func secret() async throws {
    try await withServer { server in
      let key = server.folder["locked"]
      let made = try await Program.sshKeygen.run(["-q", "-t", "ed25519", "-N", "sesame", "-f", key])
      try #require(made.exitCode == 0)
      try server.folder.write(String(contentsOfFile: "\(key).pub", encoding: .utf8), to: "authorized_keys")
      let link = address("/s", at: server, "identity=\(key)&passphrase=env:WORD&config=none&\(known(server))")
      for json in [["--json"], []] {
        let result = try await BywayProcess.run(["doctor", link] + json, environment: ["WORD": "open-barley"])
        #expect(result.exitCode == 69 && result.text.contains("WORD is wrong"), "\(result.text)")
        #expect(!(result.text + result.errorText).contains("barley"), "\(result.text)")
      }
    }
  }

  @Test("the doctor reports a server that disconnects after too many keys")
  func tooManyKeys() async throws {
    try await withServer("MaxAuthTries 2") { server in
      let names = ["one", "two", "three", "four"].map { server.folder[$0] }
      for name in names { try await SSHServer.makeKey(at: name) }
      let config = try server.folder.write(names.map { "IdentityFile \($0)\n" }.joined(), to: "c")
      let report = try await examine(address("/s", at: server, "config=\(config)&\(known(server))"))
      #expect(report.expects(.tooManyKeys), "\(report.json)")
    }
  }

  @Test("the doctor reports a server that requires a password")
  func password() async throws {
    try await withServer("PubkeyAuthentication no", "PasswordAuthentication yes") { server in
      let report = try await examine(server.address("/s"))
      #expect(report.expects(.passwordWanted), "\(report.json)")
    }
  }

  @Test("the doctor reports a missing SSH agent if it would be the only source of keys")
  func noAgent() async throws {
    try await withServer { server in
      let config = try server.folder.write("IdentityAgent \(server.folder["agent"])\nIdentityFile none\n", to: "c")
      let report = try await examine(address("/s", at: server, "config=\(config)&\(known(server))"))
      #expect(report.expects(.noAgent), "\(report.json)")
    }
  }

  // MARK: Remote host

  @Test("the doctor reports a remote socket that is missing or stale, or another kind of file")
  func farSockets() async throws {
    try await withServer { server in
      let folder = server.folder
      try folder.write("", to: "file")
      try StaleSocket.make(at: folder["stale"])
      for (name, fault) in [("missing", LinkFault.noFile), ("stale", .nobodyListens), ("file", .notASocket)] {
        let report = try await examine(server.address(folder[name]))
        #expect(report.expects(fault), "\(report.json)")
        #expect(report.line.contains(folder[name]))
      }
    }
  }

  @Test("the doctor reports a server that prohibits forwarding")
  func noForwarding() async throws {
    try await withServer("AllowTcpForwarding no", "AllowStreamLocalForwarding no") { server in
      let path = server.folder["s"]
      let gateway = try await Gateway.start(
        GatewayConfiguration(
          links: [try transports.link("unix:\(path)")], origin: .handler { _ in Response(status: .ok) }))
      for (place, option) in [
        (path, "AllowStreamLocalForwarding yes"), ("?tcp=127.0.0.1:80", "AllowTcpForwarding yes"),
      ] {
        let report = try await examine(server.address(place))
        #expect(report.expects(.forwardingProhibited) && report.line.contains(option), "\(report.json)")
      }
      await gateway.stop(within: .zero)
    }
  }

  @Test("the doctor reports a remote port without a listener")
  func farPort() async throws {
    try await withServer { server in
      let port = try UnusedPort()
      let report = try await examine(server.address("?tcp=127.0.0.1:\(port.port)"))
      #expect(report.expects(.nobodyListens), "\(report.json)")
      withExtendedLifetime(port) {}
    }
  }

  @Test(
    "the doctor reports a remote command that is missing, fails with a message or prints a greeting",
    arguments: [
      ("no-such-command-here", LinkFault.noProgram, "no-such-command-here"),
      ("echo so sad >%262; exit 3", .programEnded, "so sad"),
      ("echo Welcome to Example; exec cat", .chatter, "Welcome"),
    ])
  func commands(_ command: String, _ fault: LinkFault, _ word: String) async throws {
    try await withServer { server in
      let report = try await examine(server.address("?command=\(command)"))
      #expect(report.expects(fault) && report.line.contains(word), "\(report.json)")
    }
  }

  @Test("the doctor reports a gateway behind a jump host as sound, and names the second server if that is down")
  func soundJump() async throws {
    try await withServer { near in
      try await withServer { far in
        let path = far.folder["s"]
        let gateway = try await Gateway.start(
          GatewayConfiguration(
            links: [try transports.link("unix:\(path)")], origin: .handler { _ in Response(status: .ok) }))
        let port = try UnusedPort()
        try near.folder.write(
          String(contentsOfFile: near.folder["known_hosts"], encoding: .utf8)
            + String(contentsOfFile: far.folder["known_hosts"], encoding: .utf8), to: "both")
        let config = try near.folder.write(
          """
          Host near
            Port \(near.port)
            IdentityFile \(near.folder["user"])
          Host far
            Port \(far.port)
            ProxyJump near
            IdentityFile \(far.folder["user"])
          Host gone
            Port \(port.port)
            ProxyJump near
          Host lost
            ProxyJump gone
          Host *
            HostName 127.0.0.1
            IdentityAgent none
          """, to: "c")
        let options = "config=\(config)&known_hosts=\(near.folder["both"])"
        let report = try await examine("ssh://far\(path)?\(options)")
        #expect(report.expects(nil), "\(report.json)")
        let gone = try await examine("ssh://gone\(path)?\(options)")
        #expect(
          gone.expects(.nobodyListens) && gone.line.contains("cannot connect to 127.0.0.1:\(port.port)"), "\(gone.json)"
        )
        withExtendedLifetime(port) {}
        await gateway.stop(within: .zero)
      }
    }
  }

  @Test("the doctor reports a jump host without a listener")
  func firstStop() async throws {
    let port = try UnusedPort()
    let folder = try TemporaryFolder()
    let config = try folder.write(
      "Host far\n  ProxyJump me@127.0.0.1:\(port.port)\n", to: "c")
    let report = try await examine("ssh://far/s?config=\(config)&known_hosts=/dev/null")
    #expect(report.expects(.nobodyListens) && report.line.contains("127.0.0.1:\(port.port)"), "\(report.json)")
    withExtendedLifetime(port) {}
  }

  @Test("the doctor names the server at fault: unknown key behind the jump host, or forwarding prohibited on it")
  func jumps() async throws {
    for (configuration, fault, blamed) in [
      ("", LinkFault.unknownHost, 1), ("AllowTcpForwarding no", .forwardingProhibited, 0),
    ] {
      try await withServer(configuration) { near in
        try await withServer { far in
          let config = try near.folder.write(
            """
            Host near
              HostName 127.0.0.1
              Port \(near.port)
            Host far
              HostName 127.0.0.1
              Port \(far.port)
              ProxyJump near
            """, to: "c")
          let link = "ssh://far/s?config=\(config)&identity=\(near.folder["user"])&\(known(near))"
          let report = try await examine(link)
          #expect(report.expects(fault), "\(report.json)")
          let diagnosed = report.line.range(of: "127.0.0.1]?:([0-9]+)", options: .regularExpression).map {
            report.line[$0]
          }
          if fault == .unknownHost {
            let user = near.user
            let command =
              "ssh -o UserKnownHostsFile=\(near.folder["known_hosts"]) -J \(user)@127.0.0.1:\(near.port) -p \(far.port) \(user)@127.0.0.1"
            #expect(report.line.hasSuffix("Run: \(command) true"), "\(report.line)")
          }
          #expect(diagnosed?.hasSuffix("\([near, far][blamed].port)") == true, "\(report.line)")
        }
      }
    }
  }
}
