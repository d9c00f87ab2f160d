import Byway
import Glibc
import NIOCore
import NIOPosix
import Testing
import TransportTestSupport

@testable import TCPTransport

@Suite struct TCPTransportTests {
  let transport = TCPTransport()

  @Test(
    "a tcp: address of another machine is refused, with advice to use tls:",
    arguments: [
      "192.0.2.1", "0.0.0.0", "[::]", "[2001:db8::1]", "example.com", "localhost.example.com", "printerlocalhost",
      "128.0.0.1",
    ])
  func refusesOthers(_ host: String) async throws {
    let address = try LinkAddress("tcp://\(host):7000")
    let error = await bywayError { try transport.check(address) }
    #expect(error?.code == .invalidAddress)
    #expect(error?.message.contains("use tls://") == true)
    #expect(await bywayError { try await transport.connect(to: address, context: .test()) }?.code == .invalidAddress)
    #expect(await bywayError { try await transport.listen(on: address, context: .test()) }?.code == .invalidAddress)
  }

  @Test("with insecure=yes, tcp: listens beyond this machine, and still does not connect there")
  func insecure() async throws {
    let address = try LinkAddress("tcp://0.0.0.0:0?insecure=yes")
    try transport.check(address)
    let listener = try await transport.listen(on: address, context: .test())
    #expect(listener.address.text.hasPrefix("tcp://0.0.0.0:"))
    await listener.close()
    #expect(await bywayError { try await transport.connect(to: address, context: .test()) }?.code == .invalidAddress)
  }

  @Test(
    "another value of insecure, and insecure=yes with a host name, are refused",
    arguments: ["0.0.0.0:1?insecure=1", "example.com:1?insecure=yes"])
  func insecureAddresses(_ rest: String) throws {
    #expect(throws: BywayError.self) { try transport.check(LinkAddress("tcp://\(rest)")) }
  }

  @Test(
    "tcp: accepts all forms of a loopback address",
    arguments: ["127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST", "printer.localhost", "[::1]"])
  func acceptsLoopback(_ host: String) throws {
    try transport.check(LinkAddress("tcp://\(host):7000"))
  }

  @Test(
    "a tcp: address that is not a host and a port is refused",
    arguments: ["tcp:7000", "tcp://127.0.0.1", "tcp://127.0.0.1:99999", "tcp://u@127.0.0.1:1", "tcp://127.0.0.1:1/x"])
  func badAddress(_ text: String) {
    #expect(throws: BywayError.self) { try transport.check(LinkAddress(text)) }
  }

  @Test("a listener on port 0 reports the port that the system chose, and keeps the options")
  func anyPort() async throws {
    let listener = try await transport.listen(on: LinkAddress("tcp://localhost:0?http=1.1"), context: .test())
    let bound = listener.address
    #expect(bound.text.hasPrefix("tcp://localhost:") && bound.text.hasSuffix("?http=1.1"))
    #expect(try bound.hostPort().port != 0)
    try await transport.connect(to: bound, context: .test()).close().get()
    await listener.close()
  }

  @Test("both ends of a TCP link disable Nagle's algorithm")
  func noDelay() async throws {
    let listener = try await transport.listen(on: LinkAddress("tcp://127.0.0.1:0"), context: .test())
    let near = try await transport.connect(to: listener.address, context: .test())
    let far = try #require(try await nextChannel(of: listener))
    #expect(try await near.getOption(.tcpOption(.tcp_nodelay)).get() != 0)
    #expect(try await far.getOption(.tcpOption(.tcp_nodelay)).get() != 0)
    try await near.close().get()
    try await far.close().get()
    await listener.close()
  }

  @Test("if nothing listens or answers on a port, the error says so")
  func noAnswer() async throws {
    let unused = try UnusedPort()
    let unusedAddress = try LinkAddress("tcp://127.0.0.1:\(unused.port)")
    let refused = await bywayError { try await transport.connect(to: unusedAddress, context: .test()) }
    #expect(refused?.message.hasPrefix("Nothing listens on \(unusedAddress)") == true)
    #expect(refused?.processing == BywayError.Processing.none)

    let silent = try SilentPort()
    let silentAddress = try LinkAddress("tcp://127.0.0.1:\(silent.port)")
    let late = await bywayError {
      try await transport.connect(to: silentAddress, context: .test(limit: .milliseconds(100)))
    }
    #expect(late?.message.hasPrefix("\(silentAddress) did not answer in time") == true)
    withExtendedLifetime((unused, silent)) {}
  }

  @Test("if a port is in use, or cannot be dialed, the error says so")
  func badPort() async throws {
    let listener = try await transport.listen(on: LinkAddress("tcp://127.0.0.1:0"), context: .test())
    let taken = await bywayError { try await transport.listen(on: listener.address, context: .test()) }
    let holder = "\(listener.address) is already in use by process \(getpid()) ("
    #expect(taken?.message.hasPrefix(holder) == true, "\(taken?.message ?? "it listens")")
    await listener.close()
    let unknown = TCPFailure.listening(on: listener.address, IOError(errnoCode: EADDRINUSE, reason: "")).message
    let port = try listener.address.hostPort().port ?? 0
    #expect(
      unknown
        == "\(listener.address) is already in use: stop what listens there, which \"sudo ss -ltnp sport = :\(port)\""
        + " shows, or choose another port (0 takes any).")
    let zero = await bywayError { try await transport.connect(to: LinkAddress("tcp://[::1]:0"), context: .test()) }
    #expect(zero?.code == .invalidAddress)
  }

  @Test(
    "errors of the system are explained",
    arguments: [
      (ENETUNREACH, "There is no route to"), (EHOSTUNREACH, "There is no route to"), (ENOBUFS, "Cannot connect"),
    ])
  func systemErrors(_ code: CInt, _ start: String) throws {
    let address = try LinkAddress("tls://192.0.2.1:1")
    let error = IOError(errnoCode: code, reason: "")
    #expect(TCPFailure.connecting(to: address, error, expecting: .gateway).message.hasPrefix(start))
    #expect(TCPFailure.listening(on: address, IOError(errnoCode: EACCES, reason: "")).message.contains("below 1024"))
    #expect(
      TCPFailure.listening(on: address, IOError(errnoCode: EADDRNOTAVAIL, reason: "")).message
        .contains("not an address of this machine"))
  }
}
