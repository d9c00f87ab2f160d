import Byway

/// The validated address of a link over RFCOMM.
struct RFCOMMPlace: Sendable, Hashable {
  /// The remote end of the link.
  enum Remote: Sendable, Hashable {
    /// Any device, which connects to this machine.
    case any
    case device(BluetoothAddress)
  }

  /// The security that a connection must have, in the order of the kernel's levels (BT_SECURITY).
  enum Security: String, Sendable, Hashable, CaseIterable {
    case low, medium, high

    var level: UInt8 {
      switch self {
      case .low: 1
      case .medium: 2
      case .high: 3
      }
    }
  }

  /// A controller of this machine as the user writes it.
  enum Controller: Sendable, Hashable {
    case name(String)
    case address(BluetoothAddress)
  }

  static let options = [
    LinkOption("security", "low, medium for encryption (the default), or high for a pairing that the users confirmed"),
    LinkOption("controller", "controller of this machine, hci1 or its address; any of them by default"),
  ]
  /// The channel that BlueZ gives to serial ports.
  static let defaultChannel: UInt8 = 3
  static let channels: ClosedRange<UInt8> = 1...30

  let remote: Remote
  let channel: UInt8
  let security: Security
  /// `nil`: any controller.
  let controller: Controller?
  let address: LinkAddress

  init(_ address: LinkAddress) throws(BywayError) {
    self.address = address
    guard address.authority == nil, let (remote, channel) = Self.split(address.path) else {
      throw BywayError(
        .invalidAddress,
        "\(address) is not a Bluetooth device and a channel: write rfcomm:AA:BB:CC:DD:EE:FF:CHANNEL to dial, or rfcomm:any:CHANNEL to "
          + "listen, with a channel from \(Self.channels.lowerBound) to \(Self.channels.upperBound).")
    }
    (self.remote, self.channel) = (remote, channel)
    security = try Self.security(of: address)
    controller = try Self.controller(of: address)
  }

  /// The device to dial.
  func dialed() throws(BywayError) -> BluetoothAddress {
    guard case .device(let device) = remote else {
      throw BywayError(
        .invalidAddress,
        "\(address) has no device, which only a listener can leave open: write its address, which \"bluetoothctl devices\" lists."
      )
    }
    return device
  }

  /// Checks that a listener can use the address.
  func checkListening() throws(BywayError) {
    guard remote == .any else {
      throw BywayError(
        .invalidAddress,
        "\(address) is the address of a device, and this end listens: write rfcomm:any:\(channel), with controller= for one of several "
          + "controllers.")
    }
  }

  private static func split(_ path: String) -> (Remote, UInt8)? {
    let parts = path.split(separator: ":", omittingEmptySubsequences: false)
    if parts.first == "any" {
      return channel(parts.dropFirst()).map { (.any, $0) }
    }
    guard parts.count >= 6, let device = BluetoothAddress(parts[..<6].joined(separator: ":")), device != .any else {
      return nil
    }
    return channel(parts.dropFirst(6)).map { (.device(device), $0) }
  }

  /// - Parameter parts: the rest of the address, of which one part may be left.
  private static func channel(_ parts: ArraySlice<Substring>) -> UInt8? {
    guard let text = parts.first else { return defaultChannel }
    guard parts.count == 1, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt8(text),
      channels.contains(number)
    else { return nil }
    return number
  }

  private static func security(of address: LinkAddress) throws(BywayError) -> Security {
    guard let word = address[option: "security"] else { return .medium }
    guard let security = Security(rawValue: word) else {
      throw BywayError(
        .invalidAddress, "security=\(word) is unknown: write security=low, security=medium or security=high.")
    }
    return security
  }

  private static func controller(of address: LinkAddress) throws(BywayError) -> Controller? {
    guard let word = address[option: "controller"] else { return nil }
    if let address = BluetoothAddress(word), address != .any { return .address(address) }
    let number = word.utf8.dropFirst(3)
    guard word.hasPrefix("hci"), (1...4).contains(number.count), number.allSatisfy({ (0x30...0x39).contains($0) })
    else {
      throw BywayError(
        .invalidAddress,
        "controller=\(word) is not a Bluetooth controller: write its name, such as hci0, or its address. \(Advice.listing("them"))."
      )
    }
    return .name(word)
  }
}

extension RFCOMMPlace.Controller: CustomStringConvertible {
  var description: String {
    switch self {
    case .name(let name): name
    case .address(let address): "\(address)"
    }
  }
}
