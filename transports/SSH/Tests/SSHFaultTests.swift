import Byway
import Foundation
import NIOCore
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import SSHTransport

/// Failures of SSH links, each with a specific error.
@Suite("Faults of ssh: links", .timeLimit(.minutes(3))) struct SSHFaultTests {
  private func expect(_ error: BywayError?, _ words: String..., sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(error?.code == .linkUnavailable, "\(error as Any)", sourceLocation: sourceLocation)
    #expect(error?.processing == BywayError.Processing.none, sourceLocation: sourceLocation)
    for word in words {
      #expect(
        error?.message.contains(word) == true, "no \"\(word)\" in \(error as Any)", sourceLocation: sourceLocation)
    }
  }

  /// - Parameter limit: the limit of the transport's caller, independent of the transport's own limits.
  private func refusal(
    port: Int, _ limits: SSHLimits = SSHLimits(), limit: TimeAmount = .seconds(60)
  ) async throws -> BywayError? {
    let address = try LinkAddress("ssh://me@127.0.0.1:\(port)/x?config=none&known_hosts=/dev/null")
    return await bywayError { try await SSHTransport(limits).connect(to: address, context: .test(limit: limit)) }
  }

  @Test("if nothing listens on the server's port, the error says so") func noServer() async throws {
    let unused = try UnusedPort()
    expect(try await refusal(port: Int(unused.port)), "Nothing listens on me@127.0.0.1:\(unused.port)")
    withExtendedLifetime(unused) {}
  }

  @Test("if the server accepts and sends nothing, the error says so") func silentServer() async throws {
    let server = try await LocalServer.start { _ in }
    var limits = SSHLimits()
    limits.handshake = .milliseconds(200)
    expect(try await refusal(port: server.port, limits, limit: .hours(1)), "said nothing")
    await server.stop()
  }

  @Test("if the server is a web server, the error says so") func webServer() async throws {
    let server = try await LocalServer.start { channel in
      try channel.pipeline.syncOperations.addHandler(Greeter("HTTP/1.1 400 Bad Request\r\n\r\n", thenCloses: true))
    }
    expect(try await refusal(port: server.port), "is a web server")
    await server.stop()
  }

  @Test(
    "if the server speaks TLS, or is a mail server, the error says so",
    arguments: [
      ("\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\u{46}", "is a TLS server"), ("220 mx.test ESMTP\r\n", "is a mail server"),
    ])
  func unexpectedPeer(_ words: String, _ name: String) async throws {
    let server = try await LocalServer.start { channel in
      try channel.pipeline.syncOperations.addHandler(Greeter(words, thenCloses: true))
    }
    expect(try await refusal(port: server.port), "\(name), not an SSH server")
    await server.stop()
  }

  @Test("if the server is another program, the error shows its text without control characters") func somethingElse()
    async throws
  {
    let server = try await LocalServer.start { channel in
      try channel.pipeline.syncOperations.addHandler(Greeter("220 \u{1B}[31mmail ready\r\n", thenCloses: true))
    }
    expect(try await refusal(port: server.port), "is not an SSH server: it says \"220 ?[31mmail ready\"")
    await server.stop()
  }

  @Test("if the server closes the connection without a message, the error says so") func wordless() async throws {
    let server = try await LocalServer.start { channel in
      try channel.pipeline.syncOperations.addHandler(Greeter("", thenCloses: true))
    }
    expect(try await refusal(port: server.port), "without saying why", "MaxStartups")
    await server.stop()
  }

  @Test("a server that sends endless text before its identification is given up") func chatter() async throws {
    let server = try await LocalServer.start { channel in
      try channel.pipeline.syncOperations.addHandler(Fountain())
    }
    expect(try await refusal(port: server.port), "is not an SSH server")
    await server.stop()
  }

  @Test("if the server allows too few attempts, the error lists the keys tried") func manyKeys() async throws {
    let server = try await SSHServer(in: TemporaryFolder(), "MaxAuthTries 3")
    let names = ["one", "two", "three", "four", "five"].map { server.folder[$0] }
    for name in names { try await SSHServer.makeKey(at: name) }
    let config = try server.folder.write(names.map { "IdentityFile \($0)\n" }.joined(), to: "config")
    let address = try LinkAddress("\(server.base)/x?config=\(config)&known_hosts=\(server.folder["known_hosts"])")
    let error = await bywayError { try await SSHTransport().connect(to: address, context: .test(limit: .seconds(60))) }
    expect(error, "Too many authentication failures", names[0], names[1], "Name the right key with identity=FILE")
    await server.stop()
  }

  @Test("without a common cipher, the error lists those of both sides") func noCipher() async throws {
    try await SSHRig.with("Ciphers chacha20-poly1305@openssh.com") { rig in
      expect(
        try await rig.refusal("/x"), "have no common cipher", "it offers chacha20-poly1305@openssh.com", "aes128-ctr",
        "OpenSSH_")
    }
  }

  @Test("if nothing listens on the remote socket, the error says so") func noSocket() async throws {
    try await SSHRig.with { rig in
      expect(try await rig.refusal("/nowhere/x.sock"), "cannot connect to /nowhere/x.sock", "does something listen")
    }
  }

  @Test("if the remote socket may not be opened, the error says so") func deniedSocket() async throws {
    try await SSHRig.with { rig in
      let path = rig.server.folder["private.sock"]
      let server = try await LocalServer.start(at: path) { _ in }
      chmod(path, 0)
      // Root may open anything.
      let user = getuid() == 0 ? "nobody" : rig.server.user
      expect(try await rig.refusal(path, user: user), "may \(user) open it")
      await server.stop()
    }
  }

  @Test("if nothing listens on the destination port, the error says so") func noPort() async throws {
    try await SSHRig.with { rig in
      let unused = try UnusedPort()
      expect(
        try await rig.refusal("?tcp=127.0.0.1:\(unused.port)"), "cannot connect to 127.0.0.1:\(unused.port) from there")
      withExtendedLifetime(unused) {}
    }
  }

  @Test("if the server prohibits forwarding, the error says so", arguments: ["?tcp=127.0.0.1:80", "/x.sock"])
  func noForwarding(_ rest: String)
    async throws
  {
    try await SSHRig.with("AllowTcpForwarding no", "AllowStreamLocalForwarding no") { rig in
      expect(try await rig.refusal(rest), rest == "/x.sock" ? "AllowStreamLocalForwarding" : "AllowTcpForwarding")
    }
  }

  @Test("if a remote command is missing, fails or is killed, the error says so") func commands() async throws {
    try await SSHRig.with { rig in
      for (command, words) in [
        ("no-such-command-here", "was not found (status 127)"), ("echo so sad >%262; exit 3", "so sad"),
        ("exit 3", "exited with status 3"), ("kill -9 $$", "was ended by SIGKILL"), ("true", "exited with status 0"),
      ] {
        let channel = try await rig.connect("?command=\(command)")
        let received = try await channel.collected()
        let error = received.error as? BywayError
        expect(error, words, "before it sent a byte")
      }
    }
  }

  @Test("if the server has no more sessions, the error says so") func maxSessions() async throws {
    try await SSHRig.with("MaxSessions 2") { rig in
      let first = try await rig.connect("?command=cat")
      let second = try await rig.connect("?command=cat")
      expect(try await rig.refusal("?command=cat"), "limit is reached (MaxSessions)")
      try await first.close().get()
      // The server has room again once its child has ended.
      let third = try await eventualValue { try? await rig.connect("?command=cat") }
      #expect(third?.isActive == true && rig.server.logins == 1)
      for channel in [second, third] { channel?.close(promise: nil) }
    }
  }

  @Test("if the server is killed in the middle of a transfer, the link ends with an error") func killed() async throws {
    try await SSHRig.with { rig in
      let fountain = try await LocalServer.start(at: rig.server.folder["f"]) { channel in
        try channel.pipeline.syncOperations.addHandler(Fountain())
      }
      let channel = try await rig.connect(rig.server.folder["f"])
      _ = try await channel.collected(count: 1 << 20)
      let end = try await EndReader.add(to: channel)
      rig.server.killSessions()
      let error = try await end.get() as? BywayError
      #expect(error?.code == .linkLost && error?.message.contains("the server died") == true, "\(error as Any)")
      // The next link opens another session.
      try await rig.connect(rig.server.folder["f"]).close().get()
      await fountain.stop()
    }
  }
}
