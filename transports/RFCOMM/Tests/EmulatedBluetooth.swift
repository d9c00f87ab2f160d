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

  /// The addresses from which connections were made.
  var localAddresses: [BluetoothAddress] { state.withLock(\.localAddresses) }

  deinit {
    cut()
    state.withLock { state in
      for bell in state.channels.values { close(bell) }
    }
  }

  func controllers() throws(SystemError) -> [BluetoothController] { state.withLock(\.controllers) }

  func check() throws(SystemError) {
    if let code = state.withLock(\.flaw) { throw SystemError(code: code) }
  }

  func connect(
    to device: BluetoothAddress, channel: UInt8, from local: BluetoothAddress, security: RFCOMMPlace.Security,
    by deadline: NIODeadline
  ) throws(SystemError) -> CInt {
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
    var pair: [CInt] = [-1, -1]
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    try SystemError.check(socketpair(AF_UNIX, kind, 0, &pair))
    let (reading, writing) = (pair[0], pair[1])
    let isTaken = state.withLock { state in
      // The channel is free again when its listener has closed its end.
      if let bell = state.channels[channel] {
        var status = pollfd(fd: bell, events: 0, revents: 0)
        guard poll(&status, 1, 0) > 0 else { return true }
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
