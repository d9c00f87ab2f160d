import Byway
import BywayTesting
import Foundation
import NIOCore
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import SSHTransport

@Suite("Channels of ssh: links", .timeLimit(.minutes(3))) struct SSHChannelTests {
  private func echo(at path: String) async throws -> LocalServer {
    try await .start(at: path) { try $0.pipeline.syncOperations.addHandler(Echo()) }
  }

  @Test("links to one host share a login, whatever their destination") func sharing() async throws {
    try await SSHRig.with { rig in
      let (socket, port) = (
        rig.server.folder["e"],
        try await LocalServer.start { channel in
          try channel.pipeline.syncOperations.addHandler(Greeter("port", thenCloses: true))
        }
      )
      let echo = try await echo(at: socket)
      async let first = rig.connect(socket)
      async let second = rig.connect("?tcp=127.0.0.1:\(port.port)")
      async let third = rig.connect("?command=echo command")
      let channels = try await [first, second, third]
      try await channels[0].writeAndFlush(ByteBuffer(string: "socket"))
      try await channels[0].close(mode: .output)
      #expect(try await channels[0].collected().text == "socket")
      #expect(try await channels[1].collected().text == "port")
      #expect(try await channels[2].collected().text == "command\n")
      for channel in channels { channel.close(promise: nil) }
      #expect(rig.server.logins == 1)
      await echo.stop()
      await port.stop()
    }
  }

  @Test("an unused connection closes after a while, and another one opens when needed") func lingering() async throws {
    var limits = SSHLimits()
    limits.lingering = .milliseconds(50)
    try await SSHRig.with { original in
      let rig = SSHRig(server: original.server, transport: SSHTransport(limits))
      for round in 1...2 {
        try await rig.connect("?command=cat").close().get()
        #expect(try await eventually { rig.server.sessions.isEmpty })
        #expect(rig.server.logins == round)
      }
      #expect(rig.server.process.errorText.contains("Received disconnect") == true)
    }
  }

  @Test("the error output of a remote command is logged line by line") func errorOutput() async throws {
    try await SSHRig.with { rig in
      let log = LogRecord()
      let channel = try await rig.connect(
        "?command=echo one >%262; printf 'two\\033[0m\\nthree' >%262; echo out",
        context: .test(logger: log.logger, limit: .seconds(60)))
      let received = try await channel.collected()
      #expect(received.text == "out\n" && received.error == nil)
      channel.close(promise: nil)
      #expect(try await eventually { log.all.contains { $0.hasSuffix(": three") } })
      let lines = log.all.filter { $0.hasPrefix("notice") }.map { $0.split(separator: ": ").last ?? "" }
      #expect(lines == ["one", "two?[0m", "three"])
    }
  }

  @Test("a stopped reader blocks no other link, and receives no more than a window")
  func slowReader() async throws {
    try await SSHRig.with { rig in
      let fountain = try await LocalServer.start(at: rig.server.folder["f"]) { channel in
        try channel.pipeline.syncOperations.addHandler(Fountain())
      }
      let echo = try await echo(at: rig.server.folder["e"])
      let paused = try await rig.connect(rig.server.folder["f"])
      let lively = try await rig.connect(rig.server.folder["e"])
      for _ in 0..<200 {
        try await lively.writeAndFlush(ByteBuffer(string: "ping"))
        #expect(try await lively.collected(count: 4).text == "ping")
      }
      // The paused link continues at the same place.
      #expect(try await paused.collected(count: 8 << 20).bytes.readableBytes >= 8 << 20)
      for channel in [paused, lively] { channel.close(promise: nil) }
      await fountain.stop()
      await echo.stop()
    }
  }

  @Test("rekeying during transfers in both directions changes no bytes") func rekeying() async throws {
    try await SSHRig.with("RekeyLimit 1M") { rig in
      let echo = try await echo(at: rig.server.folder["e"])
      let address = try rig.address(rig.server.folder["e"])
      var kit = TransportCompatibility(rig.transport, farEnd: .echo(address))
      kit.bulkByteCount = 64 << 20
      kit.stepLimit = .seconds(60)
      try await kit.run(.carriesBulk)
      try await kit.run(.opensMany)
      await echo.stop()
    }
  }

  @Test("a server that has frozen is detected, and its links end with an error") func frozen() async throws {
    try await SSHRig.with(probing: .milliseconds(500)) { rig in
      let channel = try await rig.connect("?command=cat")
      // Silence alone is no error while the server answers probes.
      try #require(try await !eventually(within: .seconds(2)) { !channel.isActive })
      for id in rig.server.sessions { kill(id, SIGSTOP) }
      let error = try await channel.collected().error as? BywayError
      #expect(error?.code == .linkLost && error?.message.contains("has not answered for") == true, "\(error as Any)")
      rig.server.killSessions()
    }
  }

  @Test("a link connects through several jump hosts in order") func jumps() async throws {
    try await SSHRig.with { first in
      try await SSHRig.with { second in
        let (near, far) = (first.server, second.server)
        let hosts =
          try String(contentsOfFile: near.folder["known_hosts"], encoding: .utf8)
          + String(contentsOfFile: far.folder["known_hosts"], encoding: .utf8)
        try near.folder.write(hosts, to: "both")
        try near.folder.write(
          """
          Host far
            HostName 127.0.0.1
            Port \(far.port)
            ProxyJump near
            IdentityFile \(far.folder["user"])
          Host near
            HostName 127.0.0.1
            Port \(near.port)
            IdentityFile \(near.folder["user"])
          Host *
            User \(near.user)
            UserKnownHostsFile \(near.folder["both"])
            IdentityAgent none
          """, to: "config")
        let address = try LinkAddress("ssh://far?command=echo there&config=\(near.folder["config"])")
        let channel = try await SSHTransport().connect(to: address, context: .test(limit: .seconds(60)))
        #expect(try await channel.collected().text == "there\n")
        #expect(near.logins == 1 && far.logins == 1)
        channel.close(promise: nil)
      }
    }
  }

  @Test("an open that takes too long blocks no other") func slowOpening() async throws {
    try await SSHRig.with(probing: .milliseconds(200)) { rig in
      let earlier = try await rig.connect("?command=cat")
      let silent = try SilentPort()
      let late = try await rig.refusal(
        "?tcp=127.0.0.1:\(silent.port)", context: .test(limit: .milliseconds(500)))
      #expect(late?.message.contains("did not open 127.0.0.1:\(silent.port) in time") == true, "\(late as Any)")
      let channel = try await rig.connect("?command=echo here")
      #expect(try await channel.collected().text == "here\n")
      // The link opened before stays open.
      #expect(try await !eventually(within: .seconds(1)) { !earlier.isActive })
      try await earlier.writeAndFlush(ByteBuffer(string: "still here"))
      #expect(try await earlier.collected(count: 10).text == "still here")
      for channel in [channel, earlier] { channel.close(promise: nil) }
      withExtendedLifetime(silent) {}
    }
  }
}
