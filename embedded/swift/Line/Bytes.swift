extension Span where Element == UInt8 {
  /// Returns the number in two bytes in network byte order.
  @inline(never)
  func number16(at index: Int) -> UInt16 {
    UInt16(self[index]) << 8 | UInt16(self[index &+ 1])
  }

  func number32(at index: Int) -> UInt32 {
    UInt32(number16(at: index)) << 16 | UInt32(number16(at: index &+ 2))
  }

  /// Whether these bytes are equal to a text.
  @inline(never)
  func equals(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    for index in 0..<count where self[unchecked: index] != text.utf8Start[index] { return false }
    return true
  }
}

extension MutableSpan where Element == UInt8 {
  /// Copies bytes to the positions from `start` on.
  @inline(never)
  mutating func copy(_ bytes: Span<UInt8>, to start: Int) {
    precondition(start >= 0 && bytes.count <= count &- start)
    for index in 0..<bytes.count { self[unchecked: start &+ index] = bytes[unchecked: index] }
  }
}

extension StaticString {
  /// The bytes of the text, which are valid for the whole run of the program.
  var bytes: Span<UInt8> {
    @_lifetime(immortal)
    get { _overrideLifetime(Span(_unsafeStart: utf8Start, count: utf8CodeUnitCount), copying: ()) }
  }
}
