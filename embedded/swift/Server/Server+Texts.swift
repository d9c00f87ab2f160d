/// Functions for the current request and its answer as text.
extension Server {
  /// Returns whether the request's target is this text.
  mutating func targets(_ text: StaticString) -> Bool { requests[index].targets(text) }

  /// Returns the number after this text if the target begins with the text; `nil` if it does not, or no number follows.
  mutating func number(behind text: StaticString, atMost most: UInt32) -> UInt32? {
    requests[index].number(behind: text, atMost: most)
  }

  /// Returns the value of a field that the service wants: eight hexadecimal digits.
  mutating func checksum(in name: StaticString) -> UInt32? { requests[index].checksum(in: name) }

  /// Answers without a body. If there is no room, ``Event/room`` comes later.
  mutating func answer(_ status: UInt16) {
    _ = begin(status, length: 0)
  }

  /// Answers with bytes that stay in place, for example in flash.
  mutating func answer(_ status: UInt16, type: StaticString, with bytes: UnsafePointer<UInt8>, count: UInt32) {
    if begin(status, type: type, length: count) { sendStatic(bytes) }
  }

  /// Answers with a text, which is copied.
  ///
  /// - Returns: false if there is no room for it. ``Event/room`` then comes later.
  @discardableResult
  @inline(never)
  mutating func answer(_ status: UInt16, type: StaticString, text: inout Text) -> Bool {
    let length = UInt32(truncatingIfNeeded: text.count)
    guard begin(status, type: type, length: length, fields: Self.noStore) else { return false }
    send(&text)
    return true
  }

  /// Begins an answer of unknown length.
  mutating func beginStream(type: StaticString) {
    _ = begin(200, type: type, length: Self.unknownLength, fields: Self.noStore)
  }

  mutating func send(_ text: inout Text) {
    _ = text.withBytes { send($0) }
  }

  private static var noStore: StaticString { "Cache-Control: no-store\r\n" }
}

extension Request {
  fileprivate mutating func targets(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    return count < Int(headCount) && head[count] == 0 && holds(text, 0, count)
  }

  fileprivate mutating func number(behind text: StaticString, atMost most: UInt32) -> UInt32? {
    var index = text.utf8CodeUnitCount
    guard index < Int(headCount), holds(text, 0, index), head[index] != 0 else { return nil }
    var number: UInt32 = 0
    while head[index] != 0 {
      let digit = UInt32(head[index] &- UInt8(ascii: "0"))
      guard digit <= 9, number <= most else { return nil }
      number = number &* 10 &+ digit
      index &+= 1
    }
    return number <= most ? number : nil
  }

  fileprivate mutating func checksum(in name: StaticString) -> UInt32? {
    guard answer != .noRequest, var index = value(of: name) else { return nil }
    var number: UInt32 = 0
    for _ in 0..<8 {
      guard let digit = Self.hexadecimal(head[index]) else { return nil }
      number = number << 4 | digit
      index &+= 1
    }
    return head[index] == 0 ? number : nil
  }

  /// Returns the index of a field's value. The target and each name and value in the head end with a zero.
  private mutating func value(of name: StaticString) -> Int? {
    var start = end(of: 0) &+ 1
    while start < Int(headCount) {
      let end = end(of: start)
      if holds(name, start, end) { return end &+ 1 }
      start = self.end(of: end &+ 1) &+ 1
    }
    return nil
  }

  private mutating func end(of start: Int) -> Int {
    var index = start
    while index < Int(headCount), head[index] != 0 { index &+= 1 }
    return index
  }
}
