import NIOCore
import NIOEmbedded
import Synchronization
import Testing
import TransportTestSupport

@testable import Byway

/// The login that a transport gets, and the medium below it.
@Suite struct ConsoleTransportTests {
  @Test("a link whose login was refused is not dialed for a minute, and says why")
  func refused() async throws {
    let base = MediumTransport()
    let address = try LinkAddress("medium:console-of-dialing?login=root")
    let settings = try ConsoleRig.settings(address.text)
    let transport = ConsoleTransport(base: base, settings: settings)
    ConsolePasswords.noteRefusal(.refused(words: "no"), of: address, settings, at: .now())
    await #expect(throws: BywayError.self) { try await transport.connect(to: address, context: .test()) }
    #expect(base.dials == 0)
    let other = try LinkAddress("medium:another-console?login=root")
    await #expect(throws: BywayError.self) { try await transport.connect(to: other, context: .test()) }
    #expect(base.dials == 1)
    let listening = await #expect(throws: BywayError.self) {
      try await transport.listen(on: other, context: .test())
    }
    #expect(listening?.message.contains("cannot listen") == true)
  }

  @Test("a medium that is closed before the login begins fails the link")
  func closed() async throws {
    let channel = NIOAsyncTestingChannel()
    try await channel.connect(to: SocketAddress(unixDomainSocketPath: "/console")).get()
    try await channel.close()
    let (transport, address) = try console("closed", on: channel)
    await #expect(throws: (any Error).self) { try await transport.connect(to: address, context: .test()) }
  }

  @Test("a link waits for the login, and fails with it")
  func failed() async throws {
    let channel = NIOAsyncTestingChannel()
    try await channel.connect(to: SocketAddress(unixDomainSocketPath: "/console")).get()
    let (transport, address) = try console("failed", on: channel)
    let task = Task { try await transport.connect(to: address, context: .test()) }
    // The login has begun when it has typed something.
    _ = try await channel.waitForOutboundWrite(as: ByteBuffer.self)
    try await channel.testingEventLoop.executeInContext {
      channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }
    let error = await #expect(throws: BywayError.self) { try await task.value }
    #expect(error?.evidence as? ConsoleFailure == .closed(words: nil))
    #expect(!channel.isActive)
  }

  @Test("a login does not allow an opening that the medium does not allow")
  func checked() throws {
    let (transport, address) = try console("checked", on: NIOAsyncTestingChannel())
    #expect(throws: MediumTransport.Refusal.self) { try transport.check(address, for: .dial) }
    #expect(throws: MediumTransport.Refusal.self) {
      try transport.check(LinkAddress("refused:console?login=root"))
    }
  }

  private func console(_ name: String, on channel: any Channel) throws -> (ConsoleTransport, LinkAddress) {
    let address = try LinkAddress("medium:console-\(name)?login=root")
    return (
      ConsoleTransport(base: MediumTransport(channel), settings: try ConsoleRig.settings(address.text)), address
    )
  }
}

private final class MediumTransport: Transport {
  struct Refusal: Error {}

  let scheme = "medium"
  private let channel: (any Channel)?
  private let count = Mutex(0)
  var dials: Int { count.withLock(\.self) }

  init(_ channel: (any Channel)? = nil) {
    self.channel = channel
  }

  func check(_ address: LinkAddress) throws {
    if address.scheme == "refused" { throw Refusal() }
  }

  func check(_ address: LinkAddress, for opening: Link.Opening) throws { throw Refusal() }

  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    count.withLock { $0 += 1 }
    guard let channel else { throw BywayError(.linkUnavailable, "There is no medium.") }
    return channel
  }

  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    throw BywayError(.linkUnavailable, "There is no medium.")
  }
}
