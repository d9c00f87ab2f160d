/// The texts that a program writes to FunctionFS: the descriptors of its interface, and their strings (Linux, `usb/functionfs.h`).
enum FunctionDescriptors {
  private enum Speed: CaseIterable {
    case full, high, superSpeed

    var packetSize: UInt16 {
      switch self {
      case .full: 64
      case .high: 512
      case .superSpeed: 1024
      }
    }
  }

  /// The file of the endpoint that the device receives on, in the order of the descriptors.
  static let outputFile = "ep1"
  /// The file of the endpoint that the device sends on.
  static let inputFile = "ep2"

  /// Descriptors at all speeds of USB 1 to 3, and that of Microsoft for WinUSB.
  static var descriptors: [UInt8] {
    // The flags announce full speed, high speed, SuperSpeed and descriptors of Microsoft.
    var body = little(UInt32(1 | 2 | 4 | 8))
    // The interface and two endpoints. Each endpoint of SuperSpeed has a companion.
    for count: UInt32 in [3, 3, 5, 1] { body += little(count) }
    for speed in Speed.allCases { body += interface(at: speed) }
    body += winUSB
    return little(UInt32(3)) + little(UInt32(8 + body.count)) + body
  }

  /// The name of the interface in English.
  static var strings: [UInt8] {
    let body = little(UInt32(1)) + little(UInt32(1)) + little(UInt16(0x0409)) + Array("Byway link".utf8) + [0]
    return little(UInt32(2)) + little(UInt32(8 + body.count)) + body
  }

  private static func interface(at speed: Speed) -> [UInt8] {
    let kind = USBClass.link
    // Interface 0 with the first string. The kernel gives it its number in the gadget.
    let head: [UInt8] = [9, 4, 0, 0, 2, kind.kind, kind.subclass, kind.version, 1]
    return head
      + [0x01, 0x82].flatMap { (address: UInt8) -> [UInt8] in
        let endpoint: [UInt8] = [7, 5, address, 2] + little(speed.packetSize) + [0]
        // Bursts of five packets.
        return speed == .superSpeed ? endpoint + [6, 0x30, 4, 0, 0, 0] : endpoint
      }
  }

  /// The extended compat ID, with which Windows loads WinUSB without a driver of a vendor.
  private static var winUSB: [UInt8] {
    let entry: [UInt8] = [0, 1] + Array("WINUSB".utf8) + Array(repeating: 0, count: 16)
    let head: [UInt8] = [0] + little(UInt32(11 + entry.count)) + little(UInt16(1)) + little(UInt16(4)) + [1, 0]
    return head + entry
  }

  private static func little(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }
}
