import Byway
import BywayTLS
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import TCPTransport

@Suite struct TLSTransportTests {
  let transport = TLSTransport()

  @Test("a TLS link opens if each end trusts the other's authority")
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

  @Test("a listener with a certificate of an unknown authority is refused with advice")
  func unknownAuthority() async throws {
    try await withParties { ca, server, client in
      let other = try await Certificates()
      let log = LogRecord()
      try await withListener(server.options, log: log) { listener in
        let place = listener.address.place
        let error = await bywayError { try await connect(listener, "ca=\(other.authority)") }
        #expect(error?.code == .linkUnavailable)
        let advice = "Ask its administrator for the authority's certificate, and give that"
        #expect(
          error?.message
            == "The certificate of \(place) does not come from the authorities in ca=\(other.authority). \(advice) instead."
        )
        let system = await bywayError { try await connect(listener, nil) }
        #expect(
          system?.message
            == "The certificate of \(place) does not come from the system's authorities. \(advice) as ca=FILE.")
      }
      // The listener's user cannot change what the client trusts.
      #expect(
        try await eventually {
          log.all.contains { line in
            line.contains(
              "does not trust the authority of our certificate: give it that authority's certificate (ca= of a link")
          }
        }, "\(log.all)")
      #expect(!log.all.contains { $0.contains("compare its ca=") || $0.contains("key=") }, "\(log.all)")
    }
  }

  @Test("an expired certificate is refused with a clear error")
  func expired() async throws {
    try await withParties { ca, _, _ in
      let server = try await ca.issue("old", days: -1)
      try await withListener(server.options) { listener in
        let error = await bywayError { try await connect(listener, "ca=\(ca.authority)") }
        #expect(error?.message.contains("has expired") == true)
      }
    }
  }

  @Test("if the own certificate has expired, listener and dialer log a warning")
  func ownExpired() async throws {
    try await withParties { ca, server, _ in
      let old = try await ca.issue("old", days: -1)
      for (own, count) in [(server, 0), (old, 1)] {
        let record = LogRecord()
        let context = LinkContext(
          group: MultiThreadedEventLoopGroup.singleton, logger: record.logger, deadline: .now() + .seconds(10))
        let address = try LinkAddress("tls://127.0.0.1:0?\(own.options)")
        let listener = try await transport.listen(on: address, context: context)
        let warnings = { record.all.count { $0.hasPrefix("warning This end's certificate has expired") } }
        #expect(warnings() == count, "\(record.all)")
        let port = try #require(try listener.address.hostPort().port)
        let near = try LinkAddress("tls://127.0.0.1:\(port)?ca=\(ca.authority)&\(own.options)")
        try? await transport.connect(to: near, context: context).close().get()
        #expect(warnings() == 2 * count, "\(record.all)")
        _ = try await listener.reread()
        #expect(warnings() == 3 * count, "\(record.all)")
        await listener.close()
      }
    }
  }

  @Test("if the own certificate is not valid yet, a warning is logged")
  func ownFuture() async throws {
    try await withParties { ca, _, _ in
      let record = LogRecord()
      let context = LinkContext(
        group: MultiThreadedEventLoopGroup.singleton, logger: record.logger, deadline: .now() + .seconds(10))
      let future = try await ca.issueForTheFuture("future")
      let listener = try await transport.listen(
        on: LinkAddress("tls://127.0.0.1:0?\(future.options)"), context: context)
      #expect(record.all.contains { $0.hasPrefix("warning This end's certificate is not valid yet") }, "\(record.all)")
      await listener.close()
    }
  }

  @Test("a name below localhost is this machine, whatever the resolver returns")
  func loopbackName() async throws {
    try await withListener(names: "DNS:printer.localhost") { ca, listener in
      let port = try #require(try listener.address.hostPort().port)
      let address = try LinkAddress("tls://Printer.localhost:\(port)?ca=\(ca.authority)")
      try await transport.connect(to: address, context: .test()).close().get()
    }
  }

  @Test("the name in the certificate must be the configured name, or else the host")
  func names() async throws {
    try await withListener(names: "DNS:gateway.example") { ca, listener in
      let wrong = await bywayError { try await connect(listener, "ca=\(ca.authority)") }
      #expect(
        wrong?.message.contains("is not for 127.0.0.1: say which name it contains with name=") == true,
        "\(wrong as Any)")
      let other = await bywayError { try await connect(listener, "ca=\(ca.authority)&name=other.example") }
      #expect(other?.message.contains("is not for other.example") == true, "\(other as Any)")
      let text = try #require(other).description
      #expect(text.contains("(linkUnavailable: ") && !text.contains("NIOSSL") && !text.contains("failedTo"), "\(text)")
      let near = try await connect(listener, "ca=\(ca.authority)&name=gateway.example")
      try await near.close().get()
    }
    // Hubs use such names for all their devices. The asterisk stands for one label (RFC 9525 §6.3).
    try await withListener(names: "DNS:*.devices.example") { ca, listener in
      let near = try await connect(listener, "ca=\(ca.authority)&name=Printer.devices.example")
      try await near.close().get()
      for name in ["devices.example", "a.b.devices.example"] {
        let error = await bywayError { try await connect(listener, "ca=\(ca.authority)&name=\(name)") }
        #expect(error?.message.contains("is not for \(name)") == true, "\(error as Any)")
      }
    }
  }

  @Test("a client without a certificate of the authority is refused, and both ends report the reason")
  func clientCertificate() async throws {
    try await withParties { ca, server, _ in
      let unknownPeer = try await Certificates()
      let log = LogRecord()
      try await withListener("ca=\(ca.authority)&\(server.options)", log: log) { listener in
        // In TLS 1.3 the client's handshake ends before the server has verified its certificate, so the reason arrives as an
        // error.
        let without = try await connect(listener, "ca=\(ca.authority)").received()
        #expect((without.error as? BywayError)?.message.contains("asks for a client certificate") == true)
        let wrong = try await connect(listener, "ca=\(ca.authority)&\(unknownPeer.client.options)").received()
        #expect(
          (wrong.error as? BywayError)?.message.contains("does not trust the authority of our certificate") == true)
      }
      // The alert may reach the client before the listener has logged its reason.
      for reason in ["sent no certificate", "does not come from the authorities"] {
        #expect(try await eventually { log.all.contains { $0.hasPrefix("warning") && $0.contains(reason) } })
      }
    }
  }

  @Test("a listener beyond loopback without an authority is refused")
  func openListener() async throws {
    let error = await bywayError {
      try await transport.listen(on: LinkAddress("tls://0.0.0.0:0?cert=c&key=k"), context: .test())
    }
    #expect(error?.code == .invalidAddress)
    #expect(error?.message.contains("add ca=FILE") == true)
  }

  @Test("a peer that does not speak TLS is recognized")
  func notTLS() async throws {
    try await withPlainListener { listener, address in
      async let failure = bywayError { try await transport.connect(to: address, context: .test()) }
      let far = try #require(try await nextChannel(of: listener))
      try await far.writeAndFlush(ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\n\r\n")).get()
      #expect(await failure?.message.contains("does not speak TLS") == true)
      try? await far.close().get()
    }
  }

  @Test("a server with another HTTP version is distinguished from one without TLS")
  func otherProtocol() async throws {
    let ca = try await Certificates()
    let server = try await NginxServer(in: TemporaryFolder(), tls: ca.server)
    let address = try LinkAddress("tls://\(server.endpoint)?ca=\(ca.authority)")
    let error = await bywayError { try await transport.connect(to: address, context: .test()) }
    #expect(error?.message.contains("if it is a web server, add ?http=1.1 to the link") == true, "\(error as Any)")
    #expect((error?.evidence as? TLSEvidence)?.reason == .noCommonProtocol)
    await server.stop()
  }

  @Test("a server with only old versions of TLS is recognized")
  func oldVersion() async throws {
    let ca = try await Certificates()
    let server = try await OpenSSLServer.outdated(ca.server)
    let address = try LinkAddress("tls://\(server.endpoint)?ca=\(ca.authority)")
    let error = await bywayError { try await transport.connect(to: address, context: .test()) }
    #expect(error?.message.contains("speaks no version of TLS that this end does") == true, "\(error as Any)")
    await server.stop()
  }

  @Test("an error about a certificate contains its names and expiry")
  func evidence() async throws {
    try await withListener(names: "DNS:gateway.example,IP:10.0.0.1") { ca, listener in
      let error = await bywayError { try await connect(listener, "ca=\(ca.authority)") }
      let evidence = try #require(error?.evidence as? TLSEvidence)
      #expect(error?.diagnosis?.fault == .wrongName && error?.message == error?.diagnosis?.sentence)
      if case .examine(let link)? = error?.diagnosis?.repair {
        #expect(link.hasSuffix("&name=gateway.example"))
      } else {
        Issue.record("no link to examine")
      }
      #expect(evidence.reason == .wrongName && evidence.names == ["gateway.example", "10.0.0.1"])
      let (begin, end) = try (#require(evidence.notValidBefore), #require(evidence.notValidAfter))
      #expect((begin...end).contains(time(nil)))
    }
  }

  @Test("a peer that closes the connection during the handshake is recognized", arguments: [true, false])
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

  @Test("many failed handshakes cause few lines in the log")
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
      #expect(!log.all.contains { $0.contains("cert=") }, "\(log.all)")
    }
  }

  @Test("a handshake that does not end is given up at both ends")
  func silent() async throws {
    try await withPlainListener { _, address in
      // Long enough for TCP to connect on a busy machine: it has the same deadline, but another message.
      let failure = await bywayError { try await transport.connect(to: address, context: .test(limit: .seconds(2))) }
      #expect(failure?.message.contains("handshake with \(address.place) did not end in time") == true)
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

  @Test("when all connections are in use, silent ones are closed for new ones")
  func unknownPeers() async throws {
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
      // Long before an unfinished handshake is given up.
      let near = try await connect(listener, "ca=\(ca.authority)&\(client.options)")
      let far = try #require(try await nextChannel(of: listener))
      try await near.writeAndFlush(ByteBuffer(string: "hello")).get()
      #expect(try await far.received(count: 5).text == "hello")
      for channel in mute + [near, far] { channel.close(promise: nil) }
      await listener.close()
    }
  }

  /// Runs a test with a plain listener. The dialing end trusts only one authority, because reading the system's takes a while.
  private func withPlainListener(_ body: (any Listener, LinkAddress) async throws -> Void) async throws {
    let ca = try await Certificates()
    let listener = try await TCPTransport().listen(on: LinkAddress("tcp://127.0.0.1:0"), context: .test())
    try await body(listener, LinkAddress("tls\(listener.address.text.dropFirst(3))?ca=\(ca.authority)"))
    await listener.close()
  }

  @Test("all bytes are delivered to an owner that starts to read after the link has closed")
  func lateOwner() async throws {
    try await withParties { ca, server, client in
      try await withListener("ca=\(ca.authority)&\(server.options)") { listener in
        let near = try await connect(listener, "ca=\(ca.authority)&\(client.options)")
        let receiving = try await near.receiving(reads: false)
        let far = try #require(try await nextChannel(of: listener))
        try await near.close(mode: .output).get()
        _ = try await far.received()
        try await far.writeAndFlush(ByteBuffer(string: "all")).get()
        try await far.close().get()
        try await near.closeFuture.get()
        let received = try await receiving.get()
        #expect(received.text == "all" && received.error == nil)
      }
    }
  }

  @Test("a truncated TLS link is distinguished from one that was closed")
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

  @Test("a reload uses a renewed certificate, and keeps the old one if the new one cannot be read")
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

  /// Runs a body with a listener whose certificate has these names.
  private func withListener(names: String, _ body: (Certificates, any Listener) async throws -> Void) async throws {
    try await withParties { ca, _, _ in
      let server = try await ca.issue("named", names: names)
      try await withListener(server.options) { try await body(ca, $0) }
    }
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
