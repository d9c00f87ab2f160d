import BywayPrimitives
import Glibc
import NIOCore
import Synchronization
import TestTools
import Testing

@testable import RFCOMMTransport

/// Tests what is asked of the kernel. Tests/Device/rfcomm.py has a real one.
@Suite struct KernelBluetoothTests {
  private static let stream =
    CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)

  private let sockets = FakeSockets()
  private let device = BluetoothAddress(bytes: [6, 5, 4, 3, 2, 1])
  private let local = BluetoothAddress(bytes: [9, 0, 0, 0, 0, 8])

  private func connect(
    from local: BluetoothAddress = .any, security: RFCOMMPlace.Security = .medium,
    within limit: TimeAmount = .seconds(20)
  ) throws(SystemError) -> CInt {
    try KernelBluetooth(calls: sockets.calls).connect(
      to: device, channel: 7, from: local, security: security, by: .now() + limit)
  }

  @Test("a connection is made with the security, the controller, the device and the channel of its address")
  func connecting() throws {
    close(try connect(security: .high))
    close(try connect(from: local))
    #expect(
      sockets.calls(of: "make", "setOption", "bind", "connect") == [
        "make 31 \(Self.stream) 3", "setOption 274 4 [3, 0]", "connect [31, 0, 6, 5, 4, 3, 2, 1, 7, 0]",
        "make 31 \(Self.stream) 3", "setOption 274 4 [2, 0]", "bind [31, 0, 9, 0, 0, 0, 0, 8, 0, 0]",
        "connect [31, 0, 6, 5, 4, 3, 2, 1, 7, 0]",
      ])
  }

  @Test("a listener is bound to its channel, and a check uses the lowest security")
  func listening() throws {
    let bluetooth = KernelBluetooth(calls: sockets.calls)
    close(try bluetooth.listen(on: 5, of: local, security: .low))
    try bluetooth.check()
    #expect(
      sockets.calls(of: "make", "setOption", "bind", "listen") == [
        "make 31 \(Self.stream) 3", "setOption 274 4 [1, 0]", "bind [31, 0, 9, 0, 0, 0, 0, 8, 5, 0]", "listen 8",
        "make 31 \(Self.stream) 3", "setOption 274 4 [1, 0]",
      ])
    #expect(sockets.areAllClosed)
  }

  @Test(
    "a call that fails is the error, and leaves no socket open",
    arguments: [
      ("make", ["check", "connect", "listen", "controllers"]), ("setOption", ["check", "connect", "listen"]),
      ("bind", ["connect", "listen"]), ("connect", ["connect"]), ("checkError", ["connect"]), ("listen", ["listen"]),
      ("control", ["controllers"]),
    ])
  func failures(_ call: String, _ operations: [String]) {
    sockets.fail(call, EOWNERDEAD)
    let bluetooth = KernelBluetooth(calls: sockets.calls)
    for operation in operations {
      let error = #expect(throws: SystemError.self, "\(operation)") {
        switch operation {
        case "check": try bluetooth.check()
        case "connect": _ = try connect(from: local)
        case "listen": _ = try bluetooth.listen(on: 5, of: local, security: .low)
        default: _ = try bluetooth.controllers()
        }
      }
      #expect(error?.code == EOWNERDEAD)
      #expect(sockets.areAllClosed, "\(operation)")
    }
    #expect(sockets.calls(of: "make").count == operations.count)
  }

  @Test("a connection that takes its time is awaited until its deadline")
  func deadline() throws {
    sockets.fail("connect", EINPROGRESS)
    close(try connect())
    // A socket that takes no more bytes is not ready.
    sockets.areFull.withLock { $0 = true }
    let start = ContinuousClock.now
    let late = #expect(throws: SystemError.self) { try connect(within: .milliseconds(60)) }
    #expect(late?.code == ETIMEDOUT && start.duration(to: .now) > .milliseconds(50) && sockets.areAllClosed)
    #expect(throws: SystemError(code: ETIMEDOUT)) { try connect(within: .seconds(-1)) }
  }

  @Test("a connection that ends before it is open is reset")
  func reset() throws {
    // A pipe without its writer hangs up, and takes no bytes.
    sockets.arePipes.withLock { $0 = true }
    #expect(throws: SystemError(code: ECONNRESET)) { try connect() }
  }

  @Test("an accepted connection has the address of its device, does not block, and is not inherited")
  func accepting() throws {
    let (descriptor, accepted) = try KernelBluetooth(calls: sockets.calls).accept(on: 4711)
    defer { close(descriptor) }
    #expect(accepted == device)
    #expect(sockets.calls(of: "accept") == ["accept 4711 [31, 0, 0, 0, 0, 0, 0, 0, 0, 0]"])
    #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0 && fcntl(descriptor, F_GETFD) == FD_CLOEXEC)
    sockets.fail("accept", EMFILE)
    #expect(throws: SystemError(code: EMFILE)) { try KernelBluetooth(calls: sockets.calls).accept(on: 4711) }
  }

  @Test("controllers are listed in the order of their numbers, without those that have left")
  func controllers() throws {
    sockets.controllers.withLock { $0 = [0x0102, 3, 4] }
    let found = try KernelBluetooth(calls: sockets.calls).controllers()
    #expect(found.map(\.name) == ["hci3", "hci258"])
    #expect(
      sockets.calls(of: "make", "control") == [
        "make 31 \(CInt(SOCK_RAW.rawValue) | CInt(SOCK_CLOEXEC.rawValue)) 1", "control 800448d2 132 [16, 0]",
        "control 800448d3 92 [3, 0]", "control 800448d3 92 [4, 0]", "control 800448d3 92 [2, 1]",
      ])
    #expect(sockets.areAllClosed)
    // A kernel that counts more controllers than it has room for.
    sockets.controllers.withLock { $0 = Array(repeating: 3, count: 40) }
    #expect(try KernelBluetooth(calls: sockets.calls).controllers().count == 16)
    sockets.controllers.withLock { $0 = [] }
    #expect(try KernelBluetooth(calls: sockets.calls).controllers() == [])
  }
}

/// Pairs of Unix sockets in the place of Bluetooth sockets, and a record of the calls.
private final class FakeSockets: Sendable {
  /// The numbers of the controllers that the kernel lists. It cannot describe number 4.
  let controllers = Mutex<[UInt16]>([])
  /// Whether new sockets take no bytes.
  let areFull = Mutex(false)
  /// Whether new sockets are pipes that have hung up.
  let arePipes = Mutex(false)
  private let record = Mutex<[(name: String, text: String)]>([])
  private let errors = Mutex<[String: CInt]>([:])
  private let peers = Mutex<[CInt]>([])

  deinit {
    peers.withLock { for peer in $0 { close(peer) } }
  }

  /// Lets a call fail from now on.
  func fail(_ call: String, _ code: CInt) { errors.withLock { $0[call] = code } }

  func calls(of names: String...) -> [String] {
    record.withLock { $0.filter { names.contains($0.name) }.map(\.text) }
  }

  /// Whether all sockets that were made have been closed.
  var areAllClosed: Bool {
    peers.withLock { peers in
      peers.allSatisfy { peer in
        var state = pollfd(fd: peer, events: 0, revents: 0)
        return poll(&state, 1, 0) == 1 && state.revents & Int16(POLLHUP) != 0
      }
    }
  }

  private func note(_ name: String, _ facts: Any...) throws(SystemError) {
    record.withLock { $0.append((name, ([name] + facts.map { "\($0)" }).joined(separator: " "))) }
    if let code = errors.withLock({ $0[name] }) { throw SystemError(code: code) }
  }

  private func make() throws(SystemError) -> CInt {
    var ends: [CInt] = [-1, -1]
    if arePipes.withLock(\.self) {
      try SystemError.check(pipe(&ends))
      close(ends[1])
      return ends[0]
    }
    let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    try SystemError.check(socketpair(AF_UNIX, kind, 0, &ends))
    let (near, far) = (ends[0], ends[1])
    if areFull.withLock(\.self) {
      let bytes = [UInt8](repeating: 0, count: 65_536)
      while send(near, bytes, bytes.count, CInt(MSG_DONTWAIT)) > 0 {}
    }
    peers.withLock { $0.append(far) }
    return near
  }

  var calls: SocketCalls {
    var calls = SocketCalls.kernel
    calls.make = { (family, kind, kindOfProtocol) throws(SystemError) in
      try self.note("make", family, kind, kindOfProtocol)
      return try self.make()
    }
    calls.setOption = { (_, level, name, value) throws(SystemError) in try self.note("setOption", level, name, value) }
    calls.bind = { (_, address) throws(SystemError) in try self.note("bind", address) }
    calls.connect = { (_, address) throws(SystemError) in try self.note("connect", address) }
    calls.listen = { (_, backlog) throws(SystemError) in try self.note("listen", backlog) }
    calls.accept = { (listener, address) throws(SystemError) in
      try self.note("accept", listener, address)
      return (try self.make(), [31, 0, 6, 5, 4, 3, 2, 1, 7, 0])
    }
    calls.checkError = { _ throws(SystemError) in try self.note("checkError") }
    calls.control = { (_, request, value) throws(SystemError) in
      try self.note("control", String(request, radix: 16), value.count, Array(value.prefix(2)))
      return try self.answer(request, value)
    }
    return calls
  }

  private func answer(_ request: UInt, _ value: [UInt8]) throws(SystemError) -> [UInt8] {
    var value = value
    func set(_ number: UInt16, at index: Int) {
      value.replaceSubrange(index..<index + 2, with: [UInt8(number & 0xFF), UInt8(number >> 8)])
    }
    if request == 0x8004_48D2 {
      let controllers = controllers.withLock(\.self)
      set(UInt16(controllers.count), at: 0)
      for (index, number) in controllers.prefix(16).enumerated() { set(number, at: 4 + 8 * index) }
      return value
    }
    let number = Int(value[0]) | Int(value[1]) << 8
    if number == 4 { throw SystemError(code: ENODEV) }
    let name = Array("hci\(number)".utf8)
    value.replaceSubrange(2..<2 + name.count, with: name)
    return value
  }
}
