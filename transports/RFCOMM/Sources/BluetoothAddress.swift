import BywayPrimitives

/// The address of a Bluetooth device or controller: `00:1A:7D:DA:71:13`.
struct BluetoothAddress: Sendable, Hashable {
  /// The address that stands for any controller (BDADDR_ANY).
  static let any = BluetoothAddress(bytes: [0, 0, 0, 0, 0, 0])

  /// The six bytes in the order of the kernel, which is the reverse of the text.
  let bytes: [UInt8]

  /// - Parameter bytes: six bytes in the order of the kernel.
  init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// - Returns: `nil` unless the text is six pairs of hexadecimal digits with colons between them.
  init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let bytes = parts.compactMap { Hex.byte($0.utf8) }
    guard parts.count == 6, bytes.count == 6 else { return nil }
    self.bytes = bytes.reversed()
  }
}

extension BluetoothAddress: CustomStringConvertible {
  var description: String {
    bytes.reversed().map { Hex.text([$0], isUppercase: true) }.joined(separator: ":")
  }
}
