import Byway
import Glibc
import NIOCore
import NIOPosix
import TestTools
import Testing
import TransportTestSupport

@testable import VSockTransport

/// Tests addresses, messages and listening. Tests/Device/vsock.py tests links, on a kernel with `vsock_loopback`.
@Suite struct VSockTransportTests {
  private let transport = VSockTransport()

  @Test(
    "accepts a machine and a port", arguments: ["3:7000", "host:7000", "local:1", "any:1024", "4294967294:4294967294"])
  func addresses(_ rest: String) throws {
    try transport.check(LinkAddress("vsock:\(rest)"))
  }

  @Test(
    "refuses addresses that are not a machine and a port",
    arguments: [
      "", "3", "3:", ":7000", "3:0", "3:7000:1", "-1:7000", "+3:7000", "guest:7000", "3:4294967295", "4294967295:1",
      "3:port", "//3:7000",
    ])
  func badAddresses(_ rest: String) {
    let error = #expect(throws: BywayError.self) { try transport.check(LinkAddress("vsock:\(rest)")) }
    #expect(error?.code == .invalidAddress && error?.message.contains("write vsock:CID:PORT") == true)
  }

  @Test("does not dial any machine")
  func any() async throws {
    let address = try LinkAddress("vsock:any:7000")
    let error = #expect(throws: BywayError.self) { try transport.check(address, for: .dial) }
    #expect(error?.code == .invalidAddress)
    try transport.check(address, for: .listen)
    #expect(await bywayError { try await transport.connect(to: address, context: .test()) }?.code == .invalidAddress)
  }

  @Test("reads the names of machines")
  func names() throws {
    for (name, cid) in [("any", UInt32.max), ("local", 1), ("host", 2), ("17", 17)] {
      let bound = try VSockPlace(LinkAddress("vsock:\(name):9")).bound
      #expect(bound.cid.rawValue == cid && bound.port.rawValue == 9)
    }
  }

  @Test("explains errors of the system")
  func failures() throws {
    let address = try LinkAddress("vsock:3:7000")
    func connecting(_ code: CInt) -> BywayError {
      VSockFailure.connecting(to: address, IOError(errnoCode: code, reason: ""), expecting: .gateway)
    }
    func listening(_ code: CInt) -> String {
      VSockFailure.listening(on: address, IOError(errnoCode: code, reason: "")).message
    }
    #expect(connecting(ECONNRESET).message.hasPrefix("Nothing listens on vsock:3:7000: start a gateway there"))
    #expect(connecting(ECONNREFUSED).diagnosis?.fault == .nobodyListens)
    #expect(connecting(ECONNRESET).diagnosis?.fault == .nobodyListens)
    for code in [EADDRNOTAVAIL, EHOSTUNREACH, ENETUNREACH] { #expect(connecting(code).diagnosis?.fault == .noRoute) }
    #expect(connecting(ETIMEDOUT).message.hasPrefix("vsock:3:7000 did not answer in time"))
    #expect(connecting(EPERM).diagnosis?.fault == .notConnected)
    #expect(listening(EAFNOSUPPORT).contains("load the module vsock"))
    #expect(listening(EIO).hasPrefix("Cannot listen on vsock:3:7000: "))
    #expect(VSockFailure.listening(on: address, IOError(errnoCode: EIO, reason: "")).processing == .none)
    #expect(connecting(ENODEV).message.contains("vhost_vsock") && connecting(ENODEV).diagnosis?.fault == .noRoute)
    #expect(connecting(EAFNOSUPPORT).message.contains("no vsock"))
    #expect(connecting(EPERM).message.hasPrefix("Cannot connect to vsock:3:7000: "))
    #expect(connecting(ETIMEDOUT).diagnosis?.fault == .noAnswer)
    #expect(listening(EADDRINUSE).contains("already in use"))
    #expect(listening(EACCES).contains("below 1024"))
    #expect(listening(EADDRNOTAVAIL).contains("listen on vsock:any:PORT"))
    #expect(connecting(EPERM).code == .linkUnavailable && connecting(EPERM).processing == .none)
  }

  @Test("listens, is refused a port that is taken, and frees it", .enabled(if: VSockTransportTests.hasVSock))
  func listening() async throws {
    let address = try LinkAddress("vsock:any:\(UInt32.random(in: 100_000...2_000_000_000))")
    let listener = try await transport.listen(on: address, context: .test())
    #expect(listener.address == address)
    let taken = await bywayError { try await transport.listen(on: address, context: .test()) }
    #expect(taken?.message.contains("already in use") == true, "\(taken as Any)")
    await listener.close()
    // The kernel may free the port a moment after the socket is closed.
    #expect(try await eventually { (try? await transport.listen(on: address, context: .test()).close()) != nil })
  }

  static var hasVSock: Bool {
    let socket = socket(AF_VSOCK, CInt(SOCK_STREAM.rawValue), 0)
    guard socket >= 0 else { return false }
    close(socket)
    return true
  }
}
