/// The frames that an end owes the peer. It is not an `OptionSet`, whose array literals allocate memory.
struct Owed {
  private(set) var bits: UInt8

  static var none: Owed { Owed(bits: 0) }
  static var reset: Owed { Owed(bits: 1) }
  static var hello: Owed { Owed(bits: 2) }
  static var open: Owed { Owed(bits: 4) }
  static var answer: Owed { Owed(bits: 8) }
  static var acknowledgement: Owed { Owed(bits: 16) }
  static var noise: Owed { Owed(bits: 32) }
  static var poll: Owed { Owed(bits: 64) }
  /// A HELLO that answers an OPEN, and its copy.
  static var helloAndCopy: Owed { Owed(bits: 2 | 128) }
  static var copyOfHello: Owed { Owed(bits: 128) }
  /// The frames that are still owed after the end of a session.
  static var withoutSession: Owed { Owed(bits: 1 | 2 | 128) }

  var isEmpty: Bool { bits == 0 }

  func contains(_ frame: Owed) -> Bool { bits & frame.bits != 0 }

  mutating func insert(_ frames: Owed) { bits |= frames.bits }

  mutating func remove(_ frames: Owed) { bits &= ~frames.bits }

  mutating func keepOnly(_ frames: Owed) { bits &= frames.bits }
}
