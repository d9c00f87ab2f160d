import Byway
import BywayPrimitives
import Glibc
import NIOCore
import Synchronization
import TestTools
import Testing
import TransportTestSupport

@testable import CANTransport

/// Tests what is asked of the kernel, with the interface `lo`, which every machine has.
@Suite struct ISOTPSocketTests {
  private let sockets = FakeISOTP()

  private func open(_ address: String) throws -> CInt {
    try ISOTPSocket.open(CANAddress(LinkAddress("can:\(address)")), calls: sockets.calls)
  }

  @Test("a socket is bound to its interface and its identifiers, with CAN FD if the address has it")
  func calls() throws {
    let kind = CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    let index = UInt8(if_nametoindex("lo"))
    let address = [29, 0, 0, 0, index, 0, 0, 0, 2, 0, 0, 0, 0xE1, 7, 0, 0] + [UInt8](repeating: 0, count: 8)
    close(try open("lo?tx=0x7E1&rx=2"))
    close(try open("lo?tx=7E1&rx=2&fd=yes"))
    #expect(
      sockets.allCalls == [
        "make 29 \(kind) 6", "bind \(address)", "checkError",
        "make 29 \(kind) 6", "setOption 106 5 [72, 64, 1]", "bind \(address)", "checkError",
      ])
  }

  @Test(
    "a call that fails is explained, and leaves no socket open",
    arguments: [
      ("make", EAFNOSUPPORT, "load the module can,"), ("make", EPROTONOSUPPORT, "load the module can-isotp"),
      ("setOption", EINVAL, "carries no frames of CAN FD"), ("bind", EPERM, "Permission denied on lo"),
      ("checkError", ENETDOWN, "The CAN interface lo is down"),
    ])
  func failures(_ call: String, _ code: CInt, _ part: String) throws {
    sockets.fail(call, code)
    let failure = #expect(throws: CANFailure.self) { try open("lo?tx=1&rx=2&fd=yes") }
    #expect(failure?.message.contains(part) == true, "\(failure as Any)")
    #expect(sockets.areAllClosed && sockets.allCalls.last?.hasPrefix(call) == true)
  }

  @Test("a kernel without ISO-TP is the reason that users see, before a missing interface")
  func missing() throws {
    let failure = #expect(throws: CANFailure.self) { try open("none7?tx=1&rx=2") }
    #expect(failure?.message.hasPrefix("There is no CAN interface none7") == true && sockets.areAllClosed)
    #expect(sockets.allCalls.count == 1)
    sockets.fail("make", EPROTONOSUPPORT)
    let other = #expect(throws: CANFailure.self) { try open("none7?tx=1&rx=2") }
    #expect(other?.message.contains("can-isotp") == true)
  }

  @Test("a dialer has a channel over its socket, which is closed with it")
  func dialing() async throws {
    let channel = try await CANTransport(calls: sockets.calls).connect(
      to: LinkAddress("can:lo?tx=1&rx=2"), context: .test())
    let received = try await channel.receiving(count: 3)
    try await channel.writeAndFlush(ByteBuffer(bytes: [1, 2]))
    #expect(try await eventually { try sockets.message() == [1, 2] })
    try sockets.send([3, 4, 5])
    #expect(try await Array(buffer: received.get().bytes) == [3, 4, 5])
    try await channel.close()
    #expect(sockets.areAllClosed)
  }

  @Test("a listener waits for an interface that is down, and opens it again after each loss")
  func listening() async throws {
    let log = LogRecord()
    sockets.fail("checkError", ENETDOWN)
    let listener = try await CANTransport(calls: sockets.calls).listen(
      on: LinkAddress("can:lo?tx=1&rx=2"), context: .test(logger: log.logger))
    #expect(listener.unavailableReason?.hasPrefix("The CAN interface lo is down") == true)
    #expect(log.all.first?.hasPrefix("notice Waiting for lo. The CAN interface lo is down") == true)
    sockets.fail("checkError", nil)
    for _ in 0..<2 {
      let channel = try #require(try await nextChannel(of: listener))
      // The reason ends a moment after the channel has entered the queue.
      #expect(try await eventually { listener.unavailableReason == nil })
      try await channel.close()
    }
    await listener.close()
    sockets.fail("make", EAFNOSUPPORT)
    let error = await bywayError {
      try await CANTransport(calls: sockets.calls).listen(on: LinkAddress("can:lo?tx=1&rx=2"), context: .test())
    }
    #expect(error?.code == .linkUnavailable && error?.diagnosis?.fault == .noRoute)
  }
}

/// Pairs of sockets that keep messages apart in the place of sockets for ISO-TP, and a record of the calls.
private final class FakeISOTP: Sendable {
  private let record = Mutex<[String]>([])
  private let errors = Mutex<[String: CInt]>([:])
  private let peers = Mutex<[CInt]>([])

  deinit {
    peers.withLock { for peer in $0 { close(peer) } }
  }

  /// Lets a call fail from now on; `nil` ends that.
  func fail(_ call: String, _ code: CInt?) { errors.withLock { $0[call] = code } }

  var allCalls: [String] { record.withLock(\.self) }

  /// Whether all sockets that were made have been closed.
  var areAllClosed: Bool {
    peers.withLock { peers in
      peers.allSatisfy { peer in
        var state = pollfd(fd: peer, events: 0, revents: 0)
        return poll(&state, 1, 0) == 1 && state.revents & Int16(POLLHUP) != 0
      }
    }
  }

  /// Returns the next message from the newest socket; `nil` if there is none.
  func message() throws -> [UInt8]? {
    let newest = peers.withLock(\.last)
    let peer = try #require(newest)
    var bytes = [UInt8](repeating: 0, count: 8192)
    let count = recv(peer, &bytes, bytes.count, CInt(MSG_DONTWAIT))
    return count > 0 ? Array(bytes[..<count]) : nil
  }

  /// Sends a message to the newest socket.
  func send(_ bytes: [UInt8]) throws {
    let newest = peers.withLock(\.last)
    let peer = try #require(newest)
    guard Glibc.send(peer, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count else {
      throw FixtureError("cannot send: \(errno)")
    }
  }

  private func note(_ name: String, _ facts: Any...) throws(SystemError) {
    record.withLock { $0.append(([name] + facts.map { "\($0)" }).joined(separator: " ")) }
    if let code = errors.withLock({ $0[name] }) { throw SystemError(code: code) }
  }

  var calls: SocketCalls {
    var calls = SocketCalls.kernel
    calls.make = { (family, kind, kindOfProtocol) throws(SystemError) in
      try self.note("make", family, kind, kindOfProtocol)
      var ends: [CInt] = [-1, -1]
      try SystemError.check(
        socketpair(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends))
      let (near, far) = (ends[0], ends[1])
      self.peers.withLock { $0.append(far) }
      return near
    }
    calls.setOption = { (_, level, name, value) throws(SystemError) in try self.note("setOption", level, name, value) }
    calls.bind = { (_, address) throws(SystemError) in try self.note("bind", address) }
    calls.checkError = { _ throws(SystemError) in try self.note("checkError") }
    return calls
  }
}
