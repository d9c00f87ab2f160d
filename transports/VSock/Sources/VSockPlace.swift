import Byway
import NIOPosix

/// The machine and port of a `vsock:` address.
struct VSockPlace {
  private let cid: VsockAddress.ContextID
  private let port: VsockAddress.Port
  private let address: LinkAddress

  init(_ address: LinkAddress) throws(BywayError) {
    self.address = address
    let parts = address.path.split(separator: ":", omittingEmptySubsequences: false)
    guard address.authority == nil, parts.count == 2, let cid = Self.cid(parts[0]), let port = Self.port(parts[1])
    else {
      throw BywayError(
        .invalidAddress,
        "\(address) is not a machine and a port: write vsock:CID:PORT, for example vsock:3:7000, or vsock:host:7000 in a virtual machine."
      )
    }
    self.cid = cid
    self.port = port
  }

  /// The address to listen on. Other machines dial it by the CID that they know.
  var bound: VsockAddress { VsockAddress(cid: cid, port: port) }

  /// - Returns: the address to dial.
  func dialed() throws(BywayError) -> VsockAddress {
    guard cid != .any else {
      throw BywayError(
        .invalidAddress,
        "\(address) has no machine, which only a listener can leave open: write its CID, or host in a virtual machine.")
    }
    return bound
  }

  private static func cid(_ text: Substring) -> VsockAddress.ContextID? {
    switch text {
    case "any": .any
    case "local": .local
    case "host": .host
    default: number(text).map { VsockAddress.ContextID(rawValue: $0) }
    }
  }

  private static func port(_ text: Substring) -> VsockAddress.Port? {
    number(text).flatMap { $0 == 0 ? nil : VsockAddress.Port(rawValue: $0) }
  }

  /// Returns `nil` for other texts than decimal numbers. The highest number means any.
  private static func number(_ text: Substring) -> UInt32? {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt32(text), number < .max else {
      return nil
    }
    return number
  }
}
