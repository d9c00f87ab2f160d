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

  // MARK: RFCOMM

  func check() throws(SystemError) {
    close(try Self.socket(.low))
  }

  func connect(
    to device: BluetoothAddress, channel: UInt8, from local: BluetoothAddress, security: RFCOMMPlace.Security,
    by deadline: NIODeadline
  ) throws(SystemError) -> CInt {
    let descriptor = try Self.socket(security)
    do throws(SystemError) {
      if local != .any { try Self.bind(descriptor, local, channel: 0) }
      let address = Self.socketAddress(device, channel)
      let result = Self.with(address) { BywayLibC.connect(descriptor, $0, $1) }
      if result != 0, errno != EINPROGRESS { throw .last }
      try Self.wait(for: descriptor, by: deadline)
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  func listen(on channel: UInt8, of local: BluetoothAddress, security: RFCOMMPlace.Security) throws(SystemError) -> CInt
  {
    let descriptor = try Self.socket(security)
    do throws(SystemError) {
      try Self.bind(descriptor, local, channel: channel)
      try SystemError.check(BywayLibC.listen(descriptor, Self.backlog))
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  func accept(on listener: CInt) throws(SystemError) -> (descriptor: CInt, device: BluetoothAddress) {
    var address = Self.socketAddress(.any, 0)
    var size = socklen_t(address.count)
    let descriptor = address.withUnsafeMutableBytes { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) { BywayLibC.accept(listener, $0.baseAddress, &size) }
    }
    try SystemError.check(descriptor)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    return (descriptor, BluetoothAddress(bytes: Array(address[2..<8])))
  }

  private static func socket(_ security: RFCOMMPlace.Security) throws(SystemError) -> CInt {
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    let descriptor = try SystemError.check(BywayLibC.socket(family, kind, rfcomm))
    // The layout of `struct bt_security`: the level and the size of the key, where 0 leaves the choice to the kernel.
    var option: [UInt8] = [security.level, 0]
    guard setsockopt(descriptor, level, Self.security, &option, socklen_t(option.count)) == 0 else {
      let error = SystemError.last
      close(descriptor)
      throw error
    }
    return descriptor
  }

  private static func bind(_ descriptor: CInt, _ local: BluetoothAddress, channel: UInt8) throws(SystemError) {
    try SystemError.check(with(socketAddress(local, channel)) { BywayLibC.bind(descriptor, $0, $1) })
  }

  private static func with(_ address: [UInt8], _ body: (UnsafePointer<sockaddr>?, socklen_t) -> CInt) -> CInt {
    address.withUnsafeBytes { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) { body($0.baseAddress, socklen_t(bytes.count)) }
    }
  }

  /// Waits until a connection is open, or has failed.
  private static func wait(for descriptor: CInt, by deadline: NIODeadline) throws(SystemError) {
    while true {
      let left = (deadline - .now()).nanoseconds / 1_000_000 + 1
      guard left > 1 else { throw SystemError(code: ETIMEDOUT) }
      var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      let count = poll(&ready, 1, CInt(clamping: left))
      if count < 0, errno != EINTR { throw .last }
      guard count > 0 else { continue }
      var (code, size) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
      try SystemError.check(getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size))
      if code != 0 { throw SystemError(code: code) }
      if ready.revents & Int16(POLLOUT) != 0 { return }
      throw SystemError(code: ECONNRESET)
    }
  }

  // MARK: Controllers

  func controllers() throws(SystemError) -> [BluetoothController] {
    let kind = CInt(SOCK_RAW.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    let descriptor = try SystemError.check(BywayLibC.socket(Self.family, kind, Self.hci))
    defer { close(descriptor) }
    // The layout of `struct hci_dev_list_req`: a count, and for each controller its number and its flags.
    var list = [UInt32](repeating: 0, count: 1 + 2 * Self.controllerLimit)
    list[0] = UInt32(Self.controllerLimit)
    try SystemError.check(ioctl(descriptor, Self.listControllers, &list))
    let count = min(Int(list[0] & 0xFFFF), Self.controllerLimit)
    return (0..<count).map { UInt16(truncatingIfNeeded: list[1 + 2 * $0]) }.sorted().compactMap { number in
      var description = [UInt8](repeating: 0, count: 92)
      description[0] = UInt8(number & 0xFF)
      description[1] = UInt8(number >> 8)
      guard ioctl(descriptor, Self.describeController, &description) == 0 else { return nil }
      return BluetoothController(description: description)
    }
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
