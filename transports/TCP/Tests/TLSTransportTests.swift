import Byway
import BywayTLS
import Foundation
import NIOCore
import NIOSSL
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import TCPTransport

@Suite struct TLSTransportTests {
  let transport = TLSTransport()

  @Test("opens a link where both ends trust each other's authority")
  func opens() async throws {
    try await withParties { ca, server, client in
      try await withListener("ca=\(ca.authority)&\(server.options)") { listener in
        let near = try await connect(listener, "ca=\(ca.authority)&\(client.options)")
        let far = try #require(try await nextChannel(of: listener))
        try await near.writeAndFlush(ByteBuffer(string: "hello")).get()
        #expect(try await far.received(count: 5).text == "hello")
        try await far.close().get()
        try await near.close().get()
      }
    }
  }

  @Test("refuses a listener of an unknown authority")
  func unknownAuthority() async throws {
    try await withParties { ca, server, client in
      let other = try await Certificates()
      try await withListener(server.options) { listener in
        let error = await bywayError { try await connect(listener, "ca=\(other.authority)") }
        #expect(error?.code == .linkUnavailable)
        #expect(error?.message.contains("does not come from the authorities in ca=\(other.authority)") == true)
        let system = await bywayError { try await connect(listener, nil) }
        #expect(
          system?.message.contains("does not come from the system's authorities (give ca=)") == true, "\(system as Any)"
        )
      }
    }
  }

  @Test("refuses an expired certificate, and says that it has expired")
  func expired() async throws {
    try await withParties { ca, _, _ in
      let server = try await ca.issue("old", days: -1)
      try await withListener(server.options) { listener in
        let error = await bywayError { try await connect(listener, "ca=\(ca.authority)") }
        #expect(error?.message.contains("has expired") == true)
      }
    }
  }

  @Test("verifies the name that it is told to, or the host")
  func names() async throws {
    try await withParties { ca, _, _ in
      let server = try await ca.issue("named", names: "DNS:gateway.example")
      try await withListener(server.options) { listener in
        let wrong = await bywayError { try await connect(listener, "ca=\(ca.authority)") }
        #expect(
          wrong?.message.contains("is not for 127.0.0.1: say which name it contains with name=") == true,
          "\(wrong as Any)")
        let other = await bywayError { try await connect(listener, "ca=\(ca.authority)&name=other.example") }
        #expect(other?.message.contains("is not for other.example") == true, "\(other as Any)")
        let near = try await connect(listener, "ca=\(ca.authority)&name=gateway.example")
        try await near.close().get()
      }
      // As hubs have it, for all their devices: one label is what the asterisk stands for (RFC 9525 §6.3).
      let hub = try await ca.issue("hub", names: "DNS:*.devices.example")
      try await withListener(hub.options) { listener in
        let near = try await connect(listener, "ca=\(ca.authority)&name=Printer.devices.example")
        try await near.close().get()
        for name in ["devices.example", "a.b.devices.example"] {
          let error = await bywayError { try await connect(listener, "ca=\(ca.authority)&name=\(name)") }
          #expect(error?.message.contains("is not for \(name)") == true, "\(error as Any)")
        }
      }
    }
  }

  @Test("lets nobody in without a certificate of the authority, and tells both ends why")
  func clientCertificate() async throws {
    try await withParties { ca, server, _ in
      let stranger = try await Certificates()
      let log = LogRecord()
      try await withListener("ca=\(ca.authority)&\(server.options)", log: log) { listener in
        // In TLS 1.3 the client's handshake is done before the server has judged it: the reason comes as an error.
        let without = try await connect(listener, "ca=\(ca.authority)").received()
        #expect((without.error as? BywayError)?.message.contains("asks for a client certificate") == true)
        let wrong = try await connect(listener, "ca=\(ca.authority)&\(stranger.client.options)").received()
        #expect(
          (wrong.error as? BywayError)?.message.contains("does not trust the authority of our certificate") == true)
      }
      // The alert may be at the client before the listener has logged why it sent it.
      for reason in ["sent no certificate", "does not come from the authorities"] {
        #expect(try await eventually { log.all.contains { $0.hasPrefix("warning") && $0.contains(reason) } })
      }
    }
  }

  @Test("does not listen for everyone without an authority")
  func openListener() async throws {
    let error = await bywayError {
      try await transport.listen(on: LinkAddress("tls://0.0.0.0:0?cert=c&key=k"), context: .test())
    }
    #expect(error?.code == .invalidAddress)
    #expect(error?.message.contains("add ca=FILE") == true)
  }

  @Test("recognises a far end that does not speak TLS")
  func notTLS() async throws {
    try await withPlainListener { listener, address in
      async let failure = bywayError { try await transport.connect(to: address, context: .test()) }
      let far = try #require(try await nextChannel(of: listener))
      try await far.writeAndFlush(ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\n\r\n")).get()
      #expect(await failure?.message.contains("does not speak TLS") == true)
      try? await far.close().get()
    }
  }

  @Test("tells a server that speaks another HTTP from one that speaks no TLS")
  func otherProtocol() async throws {
    let ca = try await Certificates()
    let server = try await NginxServer(in: TemporaryFolder(), tls: ca.server)
    let address = try LinkAddress("tls://\(server.endpoint)?ca=\(ca.authority)")
    let error = await bywayError { try await transport.connect(to: address, context: .test()) }
    #expect(error?.message.contains("if it is a web server, add ?http=1.1 to the link") == true, "\(error as Any)")
    #expect((error?.evidence as? TLSEvidence)?.reason == .noCommonProtocol)
    await server.stop()
  }

  @Test("tells a server that is too old")
  func oldVersion() async throws {
    let ca = try await Certificates()
    let endpoint = try Endpoint.tcp(Endpoint.freePort())
    let server = try ChildProcess(
      Program.openssl.path(),
      ["s_server", "-accept", "\(endpoint)", "-cert", ca.server.cert, "-key", ca.server.key, "-quiet", "-tls1_1"]
        + ["-cipher", "ALL:@SECLEVEL=0"])
    try await endpoint.waitUntilReachable(by: server)
    let address = try LinkAddress("tls://\(endpoint)?ca=\(ca.authority)")
    let error = await bywayError { try await transport.connect(to: address, context: .test()) }
    #expect(error?.message.contains("speaks no version of TLS that this end does") == true, "\(error as Any)")
    await server.stop()
  }

  @Test("an error knows for whom the certificate is, and until when")
  func evidence() async throws {
    try await withParties { ca, _, _ in
      let server = try await ca.issue("named", names: "DNS:gateway.example,IP:10.0.0.1")
      try await withListener(server.options) { listener in
        let error = await bywayError { try await connect(listener, "ca=\(ca.authority)") }
        let evidence = try #require(error?.evidence as? TLSEvidence)
        #expect(evidence.reason == .wrongName && evidence.names == ["gateway.example", "10.0.0.1"])
        let (begin, end) = try (#require(evidence.notValidBefore), #require(evidence.notValidAfter))
        #expect((begin...end).contains(time(nil)))
      }
    }
  }

  @Test("recognises a far end that hangs up instead of a handshake", arguments: [true, false])
  func hangsUp(_ readsFirst: Bool) async throws {
    try await withPlainListener { listener, address in
      async let failure = bywayError { try await transport.connect(to: address, context: .test()) }
      let far = try #require(try await nextChannel(of: listener))
      if readsFirst { _ = try await far.received(count: 1) }
      try await far.close().get()
      let message = await failure?.message
      #expect(message?.contains("ended the connection during the TLS handshake") == true, "\(message as Any)")
    }
  }

  @Test("many who fail the handshake are a line in the log, and not many")
  func sparse() async throws {
    try await withParties { ca, server, _ in
      let log = LogRecord()
      try await withListener("ca=\(ca.authority)&\(server.options)", log: log) { listener in
        let port = try #require(listener.address.hostPort().port)
        for _ in 0..<20 {
          let mute = try await TCPTransport().connect(to: LinkAddress("tcp://127.0.0.1:\(port)"), context: .test())
          try await mute.writeAndFlush(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n")).get()
          _ = try await mute.received()
          try? await mute.close()
        }
      }
      #expect((1...2).contains(log.all.count { $0.contains("did not begin with TLS") }), "\(log.all)")
    }
  }

  @Test("gives up a handshake that does not end, at either end")
  func silent() async throws {
    try await withPlainListener { _, address in
      // Enough for TCP to connect on a busy machine: that has the same deadline, and another message.
      let failure = await bywayError { try await transport.connect(to: address, context: .test(limit: .seconds(2))) }
      #expect(failure?.message.contains("handshake with \(address) did not end in time") == true)
    }
    try await withParties { _, server, _ in
      let impatient = TLSTransport(handshakeLimit: .milliseconds(50))
      let listener = try await impatient.listen(
        on: LinkAddress("tls://127.0.0.1:0?\(server.options)"), context: .test())
      let port = try #require(listener.address.hostPort().port)
      let mute = try await TCPTransport().connect(to: LinkAddress("tcp://127.0.0.1:\(port)"), context: .test())
      #expect(try await mute.received().bytes.readableBytes == 0)
      try await mute.close().get()
      await listener.close()
    }
  }

  @Test("who says nothing gives way to who has something to say, when the connections are all taken")
  func strangers() async throws {
    try await withParties { ca, server, client in
      var context = LinkContext.test()
      context.connections = ConnectionLimit(2)
      let listener = try await transport.listen(
        on: LinkAddress("tls://127.0.0.1:0?ca=\(ca.authority)&\(server.options)"), context: context)
      let port = try #require(listener.address.hostPort().port)
      var mute: [any Channel] = []
      for _ in 0..<6 {
        mute.append(try await TCPTransport().connect(to: LinkAddress("tcp://127.0.0.1:\(port)"), context: .test()))
      }
      // Long before a handshake that does not end is given up.
      let near = try await connect(listener, "ca=\(ca.authority)&\(client.options)")
      let far = try #require(try await nextChannel(of: listener))
      try await near.writeAndFlush(ByteBuffer(string: "hello")).get()
      #expect(try await far.received(count: 5).text == "hello")
      for channel in mute + [near, far] { channel.close(promise: nil) }
      await listener.close()
    }
  }

  /// The dialing end trusts one authority: the system's take a while to read.
  private func withPlainListener(_ body: (any Listener, LinkAddress) async throws -> Void) async throws {
    let ca = try await Certificates()
    let listener = try await TCPTransport().listen(on: LinkAddress("tcp://127.0.0.1:0"), context: .test())
    try await body(listener, LinkAddress("tls\(listener.address.text.dropFirst(3))?ca=\(ca.authority)"))
    await listener.close()
  }

  @Test("delivers all to an owner that has not read before the link has closed")
  func lateOwner() async throws {
    try await withParties { ca, server, client in
      try await withListener("ca=\(ca.authority)&\(server.options)") { listener in
        let near = try await connect(listener, "ca=\(ca.authority)&\(client.options)")
        async let received = near.received(reads: false)
        let far = try #require(try await nextChannel(of: listener))
        try await near.close(mode: .output).get()
        _ = try await far.received()
        try await far.writeAndFlush(ByteBuffer(string: "all")).get()
        try await far.close().get()
        try await near.closeFuture.get()
        #expect(try await received.text == "all")
        #expect(try await received.error == nil)
      }
    }
  }

  @Test("tells a link that was cut from one that was ended")
  func truncation() async throws {
    try await withParties { ca, server, client in
      try await withListener("ca=\(ca.authority)&\(server.options)") { listener in
        for isCut in [true, false] {
          let near = try await connect(listener, "ca=\(ca.authority)&\(client.options)")
          let far = try #require(try await nextChannel(of: listener))
          if isCut {
            try await far.pipeline.context(handlerType: NIOSSLServerHandler.self).flatMap { $0.close() }.get()
          } else {
            far.close(promise: nil)
          }
          let error = try await near.received().error as? BywayError
          #expect(error?.code == (isCut ? .linkLost : nil))
          try? await near.close().get()
        }
      }
    }
  }

  @Test("a certificate that was read anew counts when that is asked for; one that cannot be read leaves the old in use")
  func renewal() async throws {
    let ca = try await Certificates()
    let folder = try TemporaryFolder()
    func install(_ identity: Certificates.Identity) throws {
      try folder.write(try String(contentsOfFile: identity.cert, encoding: .utf8), to: "cert")
      try folder.write(try String(contentsOfFile: identity.key, encoding: .utf8), to: "key")
      chmod(folder["key"], 0o600)
    }
    func connect(to listener: any Listener, as name: String) async -> BywayError? {
      await bywayError {
        try await self.connect(listener, "ca=\(ca.authority)&name=\(name)").close().get()
      }
    }
    try install(try await ca.issue("old", names: "DNS:old.example"))
    try await withListener("cert=\(folder["cert"])&key=\(folder["key"])") { listener in
      #expect(await connect(to: listener, as: "old.example") == nil)
      try folder.write("nonsense", to: "cert")
      let error = await bywayError { _ = try await listener.reread() }
      #expect(error?.message.contains(folder["cert"]) == true, "\(error as Any)")
      #expect(await connect(to: listener, as: "old.example") == nil)
      try install(try await ca.issue("new", names: "DNS:new.example"))
      let renew = try await listener.reread()
      #expect(await connect(to: listener, as: "old.example") == nil)
      renew()
      #expect(await connect(to: listener, as: "new.example") == nil)
      #expect(await connect(to: listener, as: "old.example")?.message.contains("is not for old.example") == true)
    }
  }

  private func withParties(
    _ body: (_ ca: Certificates, _ server: Certificates.Identity, _ client: Certificates.Identity) async throws -> Void
  ) async throws {
    let ca = try await Certificates()
    try await body(ca, ca.server, ca.client)
  }

  private func withListener(
    _ options: String, log: LogRecord = LogRecord(), _ body: (any Listener) async throws -> Void
  ) async throws {
    let listener = try await transport.listen(
      on: LinkAddress("tls://127.0.0.1:0?\(options)"), context: .test(logger: log.logger))
    try await body(listener)
    await listener.close()
  }

  private func connect(_ listener: any Listener, _ options: String?) async throws -> any Channel {
    let port = try listener.address.hostPort().port ?? 0
    let query = options.map { "?\($0)" } ?? ""
    return try await transport.connect(to: LinkAddress("tls://127.0.0.1:\(port)\(query)"), context: .test())
  }
}
