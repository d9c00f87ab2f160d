import Byway

/// The validated address of a link over a CAN bus.
struct CANAddress: Sendable, Hashable {
  static let options = [
    LinkOption("tx", "identifier of the frames that this end sends: 3 hexadecimal digits, or 8 for one of 29 bits"),
    LinkOption("rx", "identifier of the frames that this end receives; the other end has both in the other order"),
    LinkOption("fd", "yes for CAN FD, at both ends; no by default"),
    LinkOption("rate", "most bytes per second of this end on the bus; 10000 by default, 50000 with CAN FD"),
  ]
  /// The longest name of a network interface (IFNAMSIZ).
  private static let longestName = 15
  private static let rates = 100...1_000_000

  let interface: String
  let transmitted: CANIdentifier
  let received: CANIdentifier
  let isFD: Bool
  /// Bytes per second in one direction. About a third of a bus with 500 kbit/s by default, because links share it.
  let rate: Int

  init(_ address: LinkAddress) throws(BywayError) {
    interface = address.path
    guard address.authority == nil, (1...Self.longestName).contains(interface.utf8.count), interface != ".",
      interface != "..",
      interface.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ":") })
    else {
      throw BywayError(
        .invalidAddress,
        "\(address) has no CAN interface: write can:INTERFACE?tx=ID&rx=ID, for example can:can0?tx=7E0&rx=7E8.")
    }
    transmitted = try Self.identifier("tx", of: address)
    received = try Self.identifier("rx", of: address)
    guard transmitted != received else {
      throw BywayError(
        .invalidAddress, "\(address) has the same identifier in both directions: write another one for rx=.")
    }
    switch address[option: "fd"] {
    case nil, "no": isFD = false
    case "yes": isFD = true
    case let word?: throw BywayError(.invalidAddress, "fd=\(word) is unknown: write fd=yes or fd=no.")
    }
    rate = try Self.rate(of: address) ?? (isFD ? 50_000 : 10_000)
  }

  private static func identifier(_ option: String, of address: LinkAddress) throws(BywayError) -> CANIdentifier {
    guard let text = address[option: option] else {
      throw BywayError(
        .invalidAddress,
        "\(address) has no \(option)=: write the identifiers of both directions, for example can:can0?tx=7E0&rx=7E8.")
    }
    guard let identifier = CANIdentifier(text) else {
      throw BywayError(
        .invalidAddress,
        "\(option)=\(text) is not a CAN identifier: write up to 3 hexadecimal digits up to 7FF, or 8 digits up to 1FFFFFFF."
      )
    }
    return identifier
  }

  private static func rate(of address: LinkAddress) throws(BywayError) -> Int? {
    guard let text = address[option: "rate"] else { return nil }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let rate = Int(text), rates.contains(rate) else {
      throw BywayError(
        .invalidAddress,
        "rate=\(text) is not a number of bytes per second: write one from \(rates.lowerBound) to \(rates.upperBound).")
    }
    return rate
  }
}
