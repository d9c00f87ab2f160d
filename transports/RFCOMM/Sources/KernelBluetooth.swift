import BywayLibC
import BywayPrimitives
import NIOCore

/// The Bluetooth sockets of Linux (net/bluetooth/rfcomm/sock.c and hci_sock.c of the kernel).
struct KernelBluetooth: BluetoothSystem {
  // Values of the kernel's headers that Swift does not import.
  private static let family: CInt = 31  // AF_BLUETOOTH
  private static let rfcomm: CInt = 3  // BTPROTO_RFCOMM
  private static let hci: CInt = 1  // BTPROTO_HCI
  private static let level: CInt = 274  // SOL_BLUETOOTH
  private static let security: CInt = 4  // BT_SECURITY
  private static let listControllers: UInt = 0x8004_48D2  // HCIGETDEVLIST
  private static let describeController: UInt = 0x8004_48D3  // HCIGETDEVINFO
  /// Connections that wait to be accepted.
  private static let backlog: CInt = 8
  /// The most controllers that the kernel lists (HCI_MAX_DEV).
  private static let controllerLimit = 16

  /// The layout of `struct sockaddr_rc`.
  static func socketAddress(_ device: BluetoothAddress, _ channel: UInt8) -> [UInt8] {
    withUnsafeBytes(of: UInt16(family)) { Array($0) } + device.bytes + [channel, 0]
  }

  private let calls: SocketCalls

  init(calls: SocketCalls = .kernel) {
    self.calls = calls
  }

  // MARK: RFCOMM

  func check() throws(SystemError) {
    close(try socket(.low))
  }

  func connect(
    to device: BluetoothAddress, channel: UInt8, from local: BluetoothAddress, security: RFCOMMPlace.Security,
    by deadline: NIODeadline
  ) throws(SystemError) -> CInt {
    let descriptor = try socket(security)
    do throws(SystemError) {
      if local != .any { try calls.bind(descriptor, Self.socketAddress(local, 0)) }
      do throws(SystemError) {
        try calls.connect(descriptor, Self.socketAddress(device, channel))
      } catch {
        if error.code != EINPROGRESS { throw error }
      }
      try wait(for: descriptor, by: deadline)
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  func listen(on channel: UInt8, of local: BluetoothAddress, security: RFCOMMPlace.Security) throws(SystemError) -> CInt
  {
    let descriptor = try socket(security)
    do throws(SystemError) {
      try calls.bind(descriptor, Self.socketAddress(local, channel))
      try calls.listen(descriptor, Self.backlog)
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  func accept(on listener: CInt) throws(SystemError) -> (descriptor: CInt, device: BluetoothAddress) {
    let (descriptor, address) = try calls.accept(listener, Self.socketAddress(.any, 0))
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    return (descriptor, BluetoothAddress(bytes: Array(address[2..<8])))
  }

  private func socket(_ security: RFCOMMPlace.Security) throws(SystemError) -> CInt {
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    let descriptor = try calls.make(Self.family, kind, Self.rfcomm)
    do throws(SystemError) {
      // The layout of `struct bt_security`: the level and the size of the key, where 0 leaves the choice to the kernel.
      try calls.setOption(descriptor, Self.level, Self.security, [security.level, 0])
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// Waits until a connection is open, or has failed.
  private func wait(for descriptor: CInt, by deadline: NIODeadline) throws(SystemError) {
    while true {
      let left = (deadline - .now()).nanoseconds / 1_000_000 + 1
      guard left > 1 else { throw SystemError(code: ETIMEDOUT) }
      var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&ready, 1, CInt(clamping: left)) > 0 else { continue }
      try calls.checkError(descriptor)
      if ready.revents & Int16(POLLOUT) != 0 { return }
      throw SystemError(code: ECONNRESET)
    }
  }

  func startThread(_ run: @escaping @Sendable () -> Void) throws(SystemError) {
    pthread_detach(try SystemThread.start(run))
  }

  // MARK: Controllers

  func controllers() throws(SystemError) -> [BluetoothController] {
    let kind = CInt(SOCK_RAW.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    let descriptor = try calls.make(Self.family, kind, Self.hci)
    defer { close(descriptor) }
    // The layout of `struct hci_dev_list_req`: a count, and for each controller its number and its flags.
    let request =
      withUnsafeBytes(of: UInt16(Self.controllerLimit)) { Array($0) }
      + [UInt8](repeating: 0, count: 2 + 8 * Self.controllerLimit)
    let list = try calls.control(descriptor, Self.listControllers, request)
    let count = min(Self.number(in: list, at: 0), Self.controllerLimit)
    return (0..<count).map { Self.number(in: list, at: 4 + 8 * $0) }.sorted().compactMap { number in
      let request = withUnsafeBytes(of: UInt16(number)) { Array($0) } + [UInt8](repeating: 0, count: 90)
      return (try? calls.control(descriptor, Self.describeController, request)).flatMap {
        BluetoothController(description: $0)
      }
    }
  }

  /// Returns a number of 16 bits in the order of the machine.
  private static func number(in bytes: [UInt8], at index: Int) -> Int {
    bytes.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: index, as: UInt16.self)) }
  }
}

extension BluetoothController {
  /// Reads the start of `struct hci_dev_info`: a number, a name of 8 bytes, an address, and flags.
  init?(description: [UInt8]) {
    guard description.count >= 20 else { return nil }
    name = String(decoding: description[2..<10].prefix { $0 != 0 }, as: UTF8.self)
    address = BluetoothAddress(bytes: Array(description[10..<16]))
    let flags = description[16]
    // HCI_UP and HCI_PSCAN.
    isUp = flags & 1 != 0
    isConnectable = flags & 8 != 0
  }
}
