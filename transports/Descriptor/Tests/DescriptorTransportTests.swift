import Byway
import BywayTesting
import Glibc
import NIOCore
import TCPTransport
import TestTools
import Testing
import TransportTestSupport
import UnixTransport

@testable import DescriptorTransport

@Suite(.serialized) struct DescriptorTransportTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test(
    "the descriptor transport passes each check of the compatibility kit",
    arguments: TransportCompatibility.Check.allCases)
  func passes(_ check: TransportCompatibility.Check) async throws {
    // The store of sockets refuses a second listener. The kit's transport has a store for each, so `inUse` tests that.
    guard check != .refusesTakenAddress else { return }
    let kit = TransportCompatibility(
      ActivatedTransport(folder: folder), farEnd: .listener { try LinkAddress("fd:link") })
    if kit.checks.contains(check) { try await kit.run(check) }
  }

  @Test("a client that connects between two listeners waits for the second one")
  func outlives() async throws {
    let held = try HeldSockets((Manager.openUnix(folder["s"]), "link"))
    let transport = DescriptorTransport(held: held)
    let address = try LinkAddress("fd:link")
    let first = try await transport.listen(on: address, context: .test())
    #expect(first.address.text == "unix:\(folder["s"])")
    await first.close()
    let client = try await UnixTransport().connect(to: first.address, context: .test())
    let second = try await transport.listen(on: address, context: .test())
    let served = try #require(try await nextChannel(of: second))
    try await client.writeAndFlush(ByteBuffer(string: "hello")).get()
    #expect(try await served.received(count: 5).text == "hello")
    try await client.close().get()
    await second.close()
  }

  @Test("several sockets of one name form one listener, and a number selects one")
  func several() async throws {
    let (unix, tcp) = try (Manager.openUnix(folder["s"]), Manager.openTCP())
    let held = HeldSockets((unix, "web"), (tcp, "web"))
    let transport = DescriptorTransport(held: held)
    let listener = try await transport.listen(on: LinkAddress("fd:web"), context: .test())
    let overTCP = try #require(held.all.last?.place.address())
    #expect(overTCP.scheme == "tcp")
    for address in [try LinkAddress("unix:\(folder["s"])"), overTCP] {
      let dialer: any Transport = address.scheme == "unix" ? UnixTransport() : TCPTransport()
      let client = try await dialer.connect(to: address, context: .test())
      let served = try #require(try await nextChannel(of: listener))
      // Either of the two may be first.
      try? await served.close().get()
      try? await client.close().get()
    }
    await listener.close()
    let numbered = try await transport.listen(on: LinkAddress("fd:\(tcp)"), context: .test())
    #expect(numbered.address == overTCP)
    await numbered.close()
  }

  @Test("the audience of a Unix socket is programs, and that of TCP anyone")
  func audience() throws {
    let (unix, tcp) = try (Manager.openUnix(folder["s"]), Manager.openTCP())
    let transport = DescriptorTransport(held: HeldSockets((unix, "programs"), (tcp, "anyone")))
    #expect(transport.audience(of: try LinkAddress("fd:programs")) == .programs)
    #expect(transport.audience(of: try LinkAddress("fd:anyone")) == .anyone)
    #expect(transport.audience(of: try LinkAddress("fd:nobody")) == .anyone)
  }

  @Test("a TCP socket that other machines reach requires insecure=yes")
  func open() async throws {
    let transport = try DescriptorTransport(held: HeldSockets((Manager.openTCP(0), "web")))
    let error = await bywayError { try await transport.listen(on: LinkAddress("fd:web"), context: .test()) }
    #expect(error?.message.contains("which other machines reach") == true, "\(String(describing: error))")
    let allowed = try await transport.listen(on: LinkAddress("fd:web?insecure=yes"), context: .test())
    await allowed.close()
  }

  @Test("child processes do not inherit the sockets of the service manager")
  func closedOnExec() throws {
    let descriptor = try Manager.openUnix(folder["s"])
    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC == 0)
    _ = HeldSockets((descriptor, "link"))
    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
  }

  @Test("a second listener on the same socket is refused, until the first one closes")
  func inUse() async throws {
    let transport = try DescriptorTransport(held: HeldSockets((Manager.openUnix(folder["s"]), "link")))
    let listener = try await transport.listen(on: LinkAddress("fd:link"), context: .test())
    let error = await bywayError { try await transport.listen(on: LinkAddress("fd:link"), context: .test()) }
    #expect(error?.message.contains("already listened on") == true)
    await listener.close()
    await (try transport.listen(on: LinkAddress("fd:link"), context: .test())).close()
  }

  @Test("if a socket is missing, the error says what to do")
  func missing() async throws {
    let socket = try Manager.openUnix(folder["s"])
    let cases: [(HeldSockets, String)] = [
      (HeldSockets((socket, "link")), "but fd:link: correct the name"),
      (HeldSockets([], .none), "start the .socket unit"),
      (HeldSockets([], .toAnother(1)), "handed to process 1"),
      (HeldSockets([], .toUs), "write ListenStream="),
    ]
    for (held, words) in cases {
      let transport = DescriptorTransport(held: held)
      let error = await bywayError { try await transport.listen(on: LinkAddress("fd:other"), context: .test()) }
      #expect(error?.code == .linkUnavailable && error?.message.contains(words) == true, "\(String(describing: error))")
    }
    let dialing = await bywayError {
      try await DescriptorTransport(held: HeldSockets([])).connect(to: LinkAddress("fd:link"), context: .test())
    }
    #expect(dialing?.message.contains("this end dials") == true)
  }

  @Test(
    "the transport refuses an fd: address that is not only a name",
    arguments: ["fd:", "fd://link", "fd:a/b", "fd:a?insecure=no"])
  func addresses(_ text: String) throws {
    #expect(throws: BywayError.self) { try DescriptorTransport(held: HeldSockets([])).check(LinkAddress(text)) }
  }
}
