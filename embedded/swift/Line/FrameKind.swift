/// The kind of a frame: its first byte (section 2). It is not an enumeration, because unknown kinds arrive too.
struct FrameKind: Equatable {
  let code: UInt8

  static var hello: FrameKind { FrameKind(code: 0x01) }
  static var open: FrameKind { FrameKind(code: 0x02) }
  static var reset: FrameKind { FrameKind(code: 0x03) }
  static var poll: FrameKind { FrameKind(code: 0x04) }
  static var acknowledgement: FrameKind { FrameKind(code: 0x40) }
  static var answer: FrameKind { FrameKind(code: 0x41) }
  static var noise: FrameKind { FrameKind(code: 0x42) }
  static var data: FrameKind { FrameKind(code: 0x80) }
  /// A value for no kind.
  static var none: FrameKind { FrameKind(code: 0) }

  private static let leastLengths: InlineArray<5, UInt8> = [0, 8, 14, 6, 6]

  /// The least number of bytes of the kind and its fields; 0 for unknown kinds.
  var leastLength: Int {
    if code < 5 { return Int(Self.leastLengths[Int(code)]) }
    if isData { return code > 0x83 ? 0 : acknowledges ? 5 : 3 }
    return self == .acknowledgement ? 5 : self == .answer ? 7 : self == .noise ? 2 : 0
  }

  var isOpening: Bool { self == .hello || self == .open }
  /// Whether the check also covers the name of the session.
  var isSealed: Bool { code >= 0x40 }
  var isData: Bool { code >= 0x80 }

  /// Whether this is DATA with an acknowledgement.
  var acknowledges: Bool {
    get { code & 1 != 0 }
    set { self = FrameKind(code: newValue ? code | 1 : code & ~1) }
  }

  /// Whether this is DATA that ends its direction.
  var isLast: Bool {
    get { code & 2 != 0 }
    set { self = FrameKind(code: newValue ? code | 2 : code & ~2) }
  }
}
