/// An event about a device from the kernel (lib/kobject_uevent.c) or udev (libudev's monitor).
struct Uevent: Sendable, Hashable {
  /// The kind of the device: `tty`.
  let subsystem: String

  /// Parses a message. Returns `nil` if it comes from neither, or does not contain the kind of the device.
  init?(_ message: some Collection<UInt8>) {
    let message = Array(message)
    guard let properties = Self.properties(of: message) else { return nil }
    let name = Array("SUBSYSTEM=".utf8)
    guard let property = properties.split(separator: 0).first(where: { $0.starts(with: name) }) else { return nil }
    subsystem = String(decoding: property.dropFirst(name.count), as: UTF8.self)
  }

  /// Returns the properties. The kernel writes `add@/devices/…` before them, and udev a header.
  private static func properties(of message: [UInt8]) -> ArraySlice<UInt8>? {
    guard message.starts(with: Array("libudev\0".utf8)) else {
      guard let end = message.firstIndex(of: 0), message[..<end].contains(UInt8(ascii: "@")) else { return nil }
      return message[(end + 1)...]
    }
    func number(at place: Int, bigEndian: Bool = false) -> Int? {
      guard message.count >= place + 4 else { return nil }
      let value = message.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: UInt32.self) }
      return Int(bigEndian ? UInt32(bigEndian: value) : value)
    }
    guard number(at: 8, bigEndian: true) == 0xFEED_CAFE, let start = number(at: 16), let count = number(at: 20),
      start <= message.count, count <= message.count - start
    else { return nil }
    return message[start..<(start + count)]
  }
}
