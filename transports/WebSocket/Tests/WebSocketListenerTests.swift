import Byway
import NIOCore
import Synchronization
import TCPTransport
import TestTools
import Testing
import TransportTestSupport

@testable import WebSocketTransport

/// Tests the listener and the addresses of links over WebSocket with a transport below that the test controls.
@Suite("A listener of links over WebSocket") struct WebSocketListenerTests {
  /// A transport whose listener accepts what the test offers.
  private final class Below: Transport {
    let scheme = "tcp"
    let queue = ChannelQueue()
    let counts = Mutex((checked: 0, applied: 0, stopped: 0, dialed: 0))

    func check(_ address: LinkAddress) throws { counts.withLock { $0.checked += 1 } }
    func audience(of address: LinkAddress) -> Audience { .anyone }
    var crossesNetwork: Bool { true }

    func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
      counts.withLock { $0.dialed += 1 }
      throw BywayError(.linkUnavailable, "not here")
    }

    func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
      QueueListener(
        address: address, queue: queue, unavailableReason: { "below" },
        reread: { { self.counts.withLock { $0.applied += 1 } } },
        stop: { self.counts.withLock { $0.stopped += 1 } })
    }
  }

  private struct Broken: Error {}

  @Test("the end of the listener below is its own end, with its error")
  func broken() async throws {
    let below = Below()
    let listener = try await WebSocketTransport(over: below).listen(
      on: LinkAddress("ws://127.0.0.1:80/a"), context: .test())
    #expect(listener.unavailableReason == "below")
    below.queue.end(throwing: Broken())
    await #expect(throws: Broken.self) { _ = try await nextChannel(of: listener) }
    let other = Below()
    let ended = try await WebSocketTransport(over: other).listen(
      on: LinkAddress("ws://127.0.0.1:80/a"), context: .test())
    other.queue.end()
    #expect(try await nextChannel(of: ended) == nil)
    await ended.close()
    #expect(other.counts.withLock(\.stopped) == 1)
  }

  @Test("files that are read again take effect below, too, and only when they are applied")
  func reread() async throws {
    let below = Below()
    let listener = try await WebSocketTransport(over: below).listen(
      on: LinkAddress("ws://127.0.0.1:80/a"), context: .test())
    let apply = try await listener.reread()
    #expect(below.counts.withLock(\.applied) == 0)
    apply()
    #expect(below.counts.withLock(\.applied) == 1)
    below.queue.end()
    await listener.close()
  }

  @Test("a plain link does not leave this machine through a proxy, and an address with a mistake dials nothing")
  func privacy() async throws {
    let below = Below()
    let transport = WebSocketTransport(over: below)
    let unused = try UnusedPort()
    for text in [
      "ws://hub.example/a?proxy=http://127.0.0.1:\(unused.port)", "ws://hub.example/a",
      "ws://127.0.0.1/a?token-file=/no/such",
    ] {
      let address = try LinkAddress(text)
      let error = await bywayError { try await transport.connect(to: address, context: .test()) }
      let isPrivate = text.contains("hub.example")
      #expect(error?.code == (isPrivate ? .invalidAddress : .linkUnavailable), "\(error as Any)")
      #expect(error?.message.contains("Nothing listens") == false && below.counts.withLock(\.dialed) == 0)
      let listening = await bywayError { try await transport.listen(on: address, context: .test()) }
      #expect(listening?.code == (isPrivate ? .invalidAddress : .linkUnavailable))
    }
    withExtendedLifetime(unused) {}
    try transport.check(LinkAddress("ws://127.0.0.1/a"))
    #expect(below.counts.withLock(\.checked) == 1)
  }

  @Test("the options of an address are those of the connection below that it passes on, and its own")
  func options() {
    let plain = WebSocketTransport(over: TCPTransport())
    let secure = WebSocketTransport(over: TLSTransport())
    #expect(plain.options.map(\.name).filter { $0.hasPrefix("proxy") || $0 == "token-file" }.count == 3)
    #expect(plain.options.contains { $0.name == "insecure" } && !plain.options.contains { $0.name == "http" })
    #expect(Set(secure.options.map(\.name)).isSuperset(of: ["ca", "cert", "key", "clients", "name", "token-file"]))
    #expect(plain.scheme == "ws" && secure.scheme == "wss" && plain.crossesNetwork)
    #expect(plain.forms.map(\.pattern) == ["ws://HOST/PATH"] && secure.forms.map(\.pattern) == ["wss://HOST/PATH"])
  }
}
