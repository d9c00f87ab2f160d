import BywayPrimitives
import Glibc
import NIOCore
import Synchronization
import TransportTestSupport

@testable import RFCOMMTransport

/// Bluetooth without hardware: a pair of Unix sockets for each connection, and controllers that a test switches on and off.
final class EmulatedBluetooth: BluetoothSystem {
  private struct State {
    var controllers: [BluetoothController]
    /// The writing end of a pair of sockets for each channel with a listener, with a byte for each connection.
    var channels: [UInt8: CInt] = [:]
    var waiting: [UInt8: [(CInt, BluetoothAddress)]] = [:]
    var localAddresses: [BluetoothAddress] = []
    /// The facts of each attempt: the device, the channel, the controller and the security.
    var dialed: [String] = []
    var deadlines: [NIODeadline] = []
    /// The facts of each attempt to listen: the channel, the controller and the security.
    var listened: [String] = []
    var acceptCalls = 0
    /// The errors of the next calls that accept.
    var acceptErrors: [CInt] = []
    /// The error of a kernel that does not list its controllers.
    var hiding: CInt?
    /// The error of a system without more threads.
    var threadError: CInt?
    /// The pipe that ends the wait of calls that connect.
    var gate: Wakeup?
    /// The error of a kernel that cannot be used.
    var flaw: CInt?
    /// Copies of the dialing ends.
    var connections: [CInt] = []
  }

  private let state: Mutex<State>

  init(_ controllers: [BluetoothController] = [EmulatedBluetooth.controller(0)]) {
    state = Mutex(State(controllers: controllers))
  }

  static func address(_ number: UInt8) -> BluetoothAddress { BluetoothAddress(bytes: [number, 0, 0, 0, 0xAA, 0]) }

  static func controller(_ number: UInt8, isUp: Bool = true, isConnectable: Bool = true) -> BluetoothController {
    BluetoothController(name: "hci\(number)", address: address(number), isUp: isUp, isConnectable: isConnectable)
  }

  /// Replaces the controllers.
  func set(_ controllers: [BluetoothController]) {
    state.withLock { $0.controllers = controllers }
  }

  /// Makes the kernel unusable.
  func spoil(_ code: CInt) {
    state.withLock { $0.flaw = code }
  }

  /// Hides the controllers behind an error.
  func hideControllers(_ code: CInt) { state.withLock { $0.hiding = code } }

  /// Lets the next calls that accept fail.
  func failAccept(_ codes: [CInt]) { state.withLock { $0.acceptErrors = codes } }

  /// Lets no thread start; `nil` ends that.
  func failThreads(_ code: CInt?) { state.withLock { $0.threadError = code } }

  /// Lets connecting block.
  func block(until gate: Wakeup) { state.withLock { $0.gate = gate } }

  var dialed: [String] { state.withLock(\.dialed) }
  var deadlines: [NIODeadline] { state.withLock(\.deadlines) }
  var listened: [String] { state.withLock(\.listened) }
  var acceptCalls: Int { state.withLock(\.acceptCalls) }

  /// The number of channels whose listener has not closed its end.
  var openListeners: Int {
    state.withLock { state in state.channels.values.count { Self.isOpen($0) } }
  }

  /// The addresses from which connections were made.
  var localAddresses: [BluetoothAddress] { state.withLock(\.localAddresses) }

  deinit {
    cut()
    state.withLock { state in
      for bell in state.channels.values { close(bell) }
    }
  }

  func controllers() throws(SystemError) -> [BluetoothController] {
    if let code = state.withLock(\.hiding) { throw SystemError(code: code) }
    return state.withLock(\.controllers)
  }

  func startThread(_ run: @escaping @Sendable () -> Void) throws(SystemError) {
    if let code = state.withLock(\.threadError) { throw SystemError(code: code) }
    try KernelBluetooth().startThread(run)
  }

  /// Whether the other end of a pair of sockets is open.
  private static func isOpen(_ bell: CInt) -> Bool {
    var status = pollfd(fd: bell, events: 0, revents: 0)
    return poll(&status, 1, 0) == 0
  }

  func check() throws(SystemError) {
    if let code = state.withLock(\.flaw) { throw SystemError(code: code) }
  }

  func connect(
    to device: BluetoothAddress, channel: UInt8, from local: BluetoothAddress, security: RFCOMMPlace.Security,
    by deadline: NIODeadline
  ) throws(SystemError) -> CInt {
    let gate = state.withLock { state in
      state.dialed.append("\(device) \(channel) \(local) \(security)")
      state.deadlines.append(deadline)
      return state.gate
    }
    if let gate {
      var ready = pollfd(fd: gate.reading, events: Int16(POLLIN), revents: 0)
      _ = poll(&ready, 1, 60_000)
    }
    var pair: [CInt] = [-1, -1]
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    try SystemError.check(socketpair(AF_UNIX, kind, 0, &pair))
    let (near, far) = (pair[0], pair[1])
    let isHeard = state.withLock { state in
      guard let bell = state.channels[channel], send(bell, [1], 1, CInt(MSG_NOSIGNAL)) == 1 else { return false }
      state.localAddresses.append(local)
      state.waiting[channel, default: []].append((far, local == .any ? Self.address(1) : local))
      state.connections.append(dup(near))
      return true
    }
    guard isHeard else {
      for descriptor in pair { close(descriptor) }
      throw SystemError(code: ECONNREFUSED)
    }
    return near
  }

  /// Ends all connections, as the loss of the radio does.
  func cut() {
    let connections = state.withLock { state in
      defer { state.connections = [] }
      return state.connections
    }
    for connection in connections {
      shutdown(connection, CInt(SHUT_RDWR))
      close(connection)
    }
  }

  func listen(on channel: UInt8, of local: BluetoothAddress, security: RFCOMMPlace.Security) throws(SystemError) -> CInt
  {
    state.withLock { $0.listened.append("\(channel) \(local) \(security)") }
    var pair: [CInt] = [-1, -1]
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    try SystemError.check(socketpair(AF_UNIX, kind, 0, &pair))
    let (reading, writing) = (pair[0], pair[1])
    let isTaken = state.withLock { state in
      // The channel is free again when its listener has closed its end.
      if let bell = state.channels[channel] {
        if Self.isOpen(bell) { return true }
        close(bell)
      }
      state.channels[channel] = writing
      return false
    }
    guard !isTaken else {
      for descriptor in pair { close(descriptor) }
      throw SystemError(code: EADDRINUSE)
    }
    return reading
  }

  func accept(on listener: CInt) throws(SystemError) -> (descriptor: CInt, device: BluetoothAddress) {
    let failure = state.withLock { state in
      state.acceptCalls += 1
      return state.acceptErrors.isEmpty ? nil : state.acceptErrors.removeFirst()
    }
    if let failure { throw SystemError(code: failure) }
    var byte: UInt8 = 0
    guard read(listener, &byte, 1) == 1 else { throw .last }
    let next = state.withLock { state in
      for channel in state.waiting.keys where state.waiting[channel]?.isEmpty == false {
        return state.waiting[channel]?.removeFirst()
      }
      return nil
    }
    guard let (descriptor, device) = next else { throw SystemError(code: EAGAIN) }
    return (descriptor, device)
  }
}
