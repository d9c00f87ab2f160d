import Byway
import LoopbackTransport
import NIOCore
import NIOPosix
import Testing
import TransportTestSupport

@Suite struct LoopbackTransportTests {
  let transport = LoopbackTransport(names: LoopbackNames())

  @Test("if nothing listens on a loopback name, the error lists the known names")
  func nobody() async throws {
    let listener = try await transport.listen(on: LinkAddress("loopback:hub"), context: .test())
    let error = await bywayError { try await transport.connect(to: LinkAddress("loopback:hup"), context: .test()) }
    #expect(error?.code == .linkUnavailable)
    #expect(error?.message.contains("Nothing listens on loopback:hup in this process; known names: hub.") == true)
    await listener.close()
    let none = await bywayError { try await transport.connect(to: LinkAddress("loopback:hub"), context: .test()) }
    #expect(none?.message.contains("no names are known") == true)
  }

  @Test("connecting from, or to, an event loop that has shut down fails", arguments: [false, true])
  func shutDown(_ isListener: Bool) async throws {
    let address = try LinkAddress("loopback:hub")
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let context = LinkContext.test()
    var ended = context
    ended.group = group
    let listener = try await transport.listen(on: address, context: isListener ? ended : context)
    try await group.shutdownGracefully()
    let error = await bywayError { try await transport.connect(to: address, context: isListener ? context : ended) }
    #expect(error?.code == .linkUnavailable)
    #expect(error?.message.contains(isListener ? "takes no more connections" : "has shut down") == true)
    await listener.close()
  }

  @Test("a loopback name has one listener at a time, and is released when it closes")
  func taken() async throws {
    let address = try LinkAddress("loopback:hub")
    let first = try await transport.listen(on: address, context: .test())
    let error = await bywayError { try await transport.listen(on: address, context: .test()) }
    #expect(error?.message.contains("already in use in this process") == true)
    await first.close()
    let second = try await transport.listen(on: address, context: .test())
    await first.close()
    try await transport.connect(to: address, context: .test()).close().get()
    await second.close()
  }

  @Test("by default, all loopback transports of a process share their names")
  func shared() async throws {
    let address = try LinkAddress("loopback:found from everywhere")
    let listener = try await LoopbackTransport().listen(on: address, context: .test())
    try await LoopbackTransport().connect(to: address, context: .test()).close().get()
    await listener.close()
  }

  @Test("connections are refused when 256 already wait to be accepted")
  func flood() async throws {
    let address = try LinkAddress("loopback:hub")
    let listener = try await transport.listen(on: address, context: .test())
    var open: [any Channel] = []
    var failure: BywayError?
    while failure == nil, open.count < 1_000 {
      do {
        open.append(try await transport.connect(to: address, context: .test()))
      } catch {
        failure = error as? BywayError
      }
    }
    #expect(open.count == 256)
    #expect(failure?.message.contains("too many wait to be accepted") == true)
    await listener.close()
    // The connections that were not accepted were closed with the listener.
    for channel in open { try await channel.closeFuture.get() }
  }

  @Test("the transport refuses a loopback address without a name", arguments: ["loopback:", "loopback://hub"])
  func noName(_ text: String) {
    #expect(throws: BywayError.self) { try transport.check(LinkAddress(text)) }
  }
}
