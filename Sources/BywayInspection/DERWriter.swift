/// Writes what a certificate is made of (X.690): each piece a tag, a length, and content.
enum DER {
  static func sequence(_ parts: [UInt8]...) -> [UInt8] { element(0x30, parts.flatMap(\.self)) }
  static func set(_ parts: [UInt8]...) -> [UInt8] { element(0x31, parts.flatMap(\.self)) }
  static func octets(_ content: [UInt8]) -> [UInt8] { element(0x04, content) }
  static func utf8(_ text: String) -> [UInt8] { element(0x0C, Array(text.utf8)) }
  static func bits(_ content: [UInt8], unused: UInt8 = 0) -> [UInt8] { element(0x03, [unused] + content) }
  static let yes = element(0x01, [0xFF])

  /// A positive number, the most significant byte first.
  static func integer(_ bytes: [UInt8]) -> [UInt8] {
    let digits = Array(bytes.drop { $0 == 0 })
    return element(0x02, (digits.first ?? 0x80) < 0x80 ? digits : [0] + digits)
  }

  /// An object identifier, its arcs encoded already.
  static func id(_ arcs: [UInt8]) -> [UInt8] { element(0x06, arcs) }

  /// Context-specific.
  static func tagged(_ number: UInt8, _ content: [UInt8], isConstructed: Bool) -> [UInt8] {
    element((isConstructed ? 0xA0 : 0x80) | number, content)
  }

  static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    [tag] + length(content.count) + content
  }

  private static func length(_ count: Int) -> [UInt8] {
    switch count {
    case ..<0x80: [UInt8(count)]
    case ..<0x100: [0x81, UInt8(count)]
    default: [0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
    }
  }
}
