import BywayPrimitives

/// The purpose of an interface: its class, subclass and protocol numbers.
struct USBClass: Sendable, Hashable {
  /// A link of this project: a vendor's class, with subclass `H` for HTTP and the version of the line protocol.
  static let link = USBClass(kind: 0xFF, subclass: 0x48, version: 0x01)
  /// IPP over USB: HTTP/1.1 without the line layer.
  static let ipp = USBClass(kind: 0x07, subclass: 0x01, version: 0x04)

  let kind: UInt8
  let subclass: UInt8
  let version: UInt8
}

extension USBClass: CustomStringConvertible {
  var description: String { [kind, subclass, version].map { Hex.text($0) }.joined(separator: "/") }
}
