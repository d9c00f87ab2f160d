import Byway
import BywayTesting
import Foundation
import NIOCore
import NIOPosix
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import SSHTransport

@Suite("Listening on the remote host", .timeLimit(.minutes(3))) struct SSHListenTests {
  private func dial(_ port: Int) async throws -> any Channel {
    try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { $0.prepareForHandover() }
      .connect(host: "127.0.0.1", port: port).get()
  }

  private func port(of listener: any Listener) throws -> Int {
    try #require(listener.address[option: "listen"].flatMap { Int($0) })
  }

  @Test("a listener on a remote port accepts connections, and reports the port that was assigned") func accepts()
    async throws
  {
    try await SSHRig.with { rig in
      let listener = try await rig.transport.listen(on: rig.address("?listen=0"), context: .test(limit: .seconds(60)))
      let port = try port(of: listener)
      #expect(port > 0)
      let near = try await dial(port)
      let far = try #require(try await nextChannel(of: listener))
      try await far.writeAndFlush(ByteBuffer(string: "from afar"))
      #expect(try await near.collected(count: 9).text == "from afar")
      for channel in [near, far] { channel.close(promise: nil) }
      await listener.close()
    }
  }

  @Test("after a lost connection, a listener opens the same remote port again") func returns() async throws {
    try await SSHRig.with { rig in
      let listener = try await rig.transport.listen(on: rig.address("?listen=0"), context: .test(limit: .seconds(60)))
      let port = try port(of: listener)
      rig.server.killSessions()
      #expect(try await eventually { rig.server.logins == 2 })
      let dialed = try #require(try await eventualValue { try? await dial(port) })
      try await dialed.writeAndFlush(ByteBuffer(string: "hello"))
      let far = try #require(try await nextChannel(of: listener))
      #expect(try await far.collected(count: 5).text == "hello")
      for channel in [dialed, far] { channel.close(promise: nil) }
      await listener.close()
      #expect(await bywayError { () in _ = try await rig.connect("?tcp=127.0.0.1:\(port)") } != nil)
    }
  }

  @Test("if the server prohibits listening, the error says so") func refused() async throws {
    try await SSHRig.with("PermitListen none") { rig in
      let address = try rig.address("?listen=8080")
      let error = await bywayError { try await rig.transport.listen(on: address, context: .test(limit: .seconds(60))) }
      #expect(error?.code == .linkUnavailable && error?.message.contains("PermitListen") == true, "\(error as Any)")
    }
  }
}
