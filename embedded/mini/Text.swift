/// A part of an argument of the program. The bytes live as long as the program.
struct Text {
  private let start: UnsafePointer<UInt8>
  let count: Int

  /// Takes bytes that do not move.
  init(_ start: UnsafePointer<UInt8>, count: Int) {
    self.init(start: start, count: count)
  }

  private init(start: UnsafePointer<UInt8>, count: Int) {
    self.start = start
    self.count = count
  }

  /// Takes a string that ends with a zero.
  init(_ characters: UnsafePointer<CChar>) {
    var count = 0
    while characters[count] != 0 { count += 1 }
    self.init(start: UnsafeRawPointer(characters).assumingMemoryBound(to: UInt8.self), count: count)
  }

  var isEmpty: Bool { count == 0 }

  /// The bytes, for C. No zero ends them.
  var characters: UnsafePointer<CChar> { UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self) }

  subscript(index: Int) -> UInt8 { start[index] }

  func hasPrefix(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { expected in
      guard count >= expected.count else { return false }
      for index in 0..<expected.count where start[index] != expected[index] { return false }
      return true
    }
  }

  func equals(_ text: StaticString) -> Bool {
    count == text.utf8CodeUnitCount && hasPrefix(text)
  }

  /// Returns the text from an offset on.
  func dropping(_ offset: Int) -> Text {
    Text(start: start + offset, count: count - offset)
  }

  /// Returns the text after a prefix, or nil if it begins with something else.
  func after(_ prefix: StaticString) -> Text? {
    hasPrefix(prefix) ? dropping(prefix.utf8CodeUnitCount) : nil
  }

  /// Returns what is before the first or last place of a byte, and what is behind it. Without that byte there is nothing behind.
  func split(at byte: UInt8, last: Bool = false) -> (before: Text, behind: Text?) {
    var place: Int?
    for index in 0..<count where start[index] == byte {
      place = index
      if !last { break }
    }
    guard let place else { return (self, nil) }
    return (Text(start: start, count: place), dropping(place + 1))
  }

  /// Returns the number that the digits stand for, or nil if it is not one within these limits.
  func number(from least: UInt32, to most: UInt32, base: UInt32 = 10) -> UInt32? {
    guard !isEmpty, count <= 9 else { return nil }
    var number: UInt32 = 0
    for index in 0..<count {
      guard start[index] >= UInt8(ascii: "0") else { return nil }
      let digit = UInt32(start[index] - UInt8(ascii: "0"))
      guard digit < base else { return nil }
      number = number * base + digit
    }
    return number >= least && number <= most ? number : nil
  }
}
