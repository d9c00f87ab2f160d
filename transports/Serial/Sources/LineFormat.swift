import Byway
import BywayPrimitives

/// The format of characters on the wire. They always have eight data bits.
struct LineFormat: Sendable, Hashable {
  enum Parity: String, CaseIterable { case none, even, odd }
  enum FlowControl: String, CaseIterable { case none, rtscts }

  static let rates = 50...12_000_000

  var baud = 115_200
  var parity = Parity.none
  var stopBits = 1
  var flow = FlowControl.none

  /// The start bit, data, parity and stop bits.
  var bitsPerCharacter: Int { 9 + (parity == .none ? 0 : 1) + stopBits }

  var bytesPerSecond: Int { baud / bitsPerCharacter }
}

extension LineFormat {
  static let options = [
    LinkOption("baud", "bits per second, the same at both ends; 115200 by default"),
    LinkOption("parity", "none (the default), even or odd"),
    LinkOption("stopbits", "1 (the default) or 2"),
    LinkOption("flow", "none (the default), or rtscts if both wires are connected"),
    LinkOption("databits", "8; a link needs all eight bits of a byte"),
  ]

  init(_ address: LinkAddress) throws {
    if let text = address[option: "baud"] {
      guard let baud = Int(text), text.first != "+", Self.rates.contains(baud) else {
        throw BywayError(
          .invalidAddress,
          "baud=\(text) is not a rate: write bits per second from \(Self.rates.lowerBound) to \(Self.rates.upperBound), "
            + "the same at both ends. Usual rates are 9600, 115200 and 921600.")
      }
      self.baud = baud
    }
    if let text = address[option: "databits"], text != "8" {
      throw BywayError(
        .invalidAddress,
        "databits=\(text) is not possible: a link needs all eight bits of a byte. Set both ends to 8 data bits.")
    }
    if address[option: "flow"] == "xonxoff" {
      throw BywayError(
        .invalidAddress,
        "flow=xonxoff is not possible: it takes the bytes 0x11 and 0x13 for itself, and a link carries every byte. Use "
          + "flow=rtscts if those wires are connected, otherwise flow=none: a link never sends faster than its far end takes."
      )
    }
    parity = try address.choice("parity", of: Parity.self) ?? .none
    flow = try address.choice("flow", of: FlowControl.self) ?? .none
    switch address[option: "stopbits"] {
    case nil, "1": stopBits = 1
    case "2": stopBits = 2
    case let text?: throw BywayError(.invalidAddress, "stopbits=\(text) is unknown: write 1 or 2.")
    }
  }
}

extension LineFormat: CustomStringConvertible {
  /// The text form, such as "115200 8N1".
  var description: String {
    let parity =
      switch self.parity {
      case .none: "N"
      case .even: "E"
      case .odd: "O"
      }
    return "\(baud) 8\(parity)\(stopBits)" + (flow == .rtscts ? " RTS/CTS" : "")
  }
}

extension LinkAddress {
  fileprivate func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String, of type: Choice.Type
  ) throws -> Choice? {
    guard let text = self[option: name] else { return nil }
    guard let choice = Choice(rawValue: text) else {
      let known = Choice.allCases.map(\.rawValue)
      throw BywayError(.invalidAddress, "\(name)=\(text) is unknown.\(Spelling.hint(for: text, among: known))")
    }
    return choice
  }
}
