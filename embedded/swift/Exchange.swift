import CByway

/// The request that an end of a line is called about, and its answer.
///
/// It is a pointer to the end, so it is free to copy. Nothing here allocates memory.
struct Exchange {
  let end: UnsafeMutablePointer<byway>

  /// The number of the request among those that are served at once.
  var number: Int { Int(byway_current(end)) }

  /// How many requests the session serves at once.
  var atOnce: Int { Int(byway_at_once(end)) }

  /// Makes calls be about another request. The service need not do that.
  func select(_ number: Int) {
    byway_select(end, UInt32(number))
  }

  var method: byway_method { byway_method(end) }

  /// The answer has begun and is not complete.
  var isAnswering: Bool { byway_answering(end) != 0 }

  /// How many bytes `send` would take.
  var room: Int { byway_room(end) }

  /// Returns whether the request's target is this text.
  func targets(_ text: StaticString) -> Bool {
    guard let target = byway_target(end) else { return false }
    return text.withUTF8Buffer { expected in
      for index in 0..<expected.count where UInt8(bitPattern: target[index]) != expected[index] { return false }
      return target[expected.count] == 0
    }
  }

  /// Returns the number behind this text if it is the beginning of the target; `nil` if it is not, or no number follows.
  func number(behind text: StaticString, atMost most: UInt32) -> UInt32? {
    guard let target = byway_target(end) else { return nil }
    return text.withUTF8Buffer { expected in
      for index in 0..<expected.count where UInt8(bitPattern: target[index]) != expected[index] { return nil }
      var number: UInt32 = 0
      var index = expected.count
      while case let digit = UInt8(bitPattern: target[index]), digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") {
        number = number * 10 + UInt32(digit - UInt8(ascii: "0"))
        if number > most { return nil }
        index += 1
      }
      return index > expected.count && target[index] == 0 ? number : nil
    }
  }

  /// Returns the value of a field that the service wants: eight hexadecimal digits.
  func checksum(in name: StaticString) -> UInt32? {
    guard let text = byway_field(end, name.characters) else { return nil }
    var number: UInt32 = 0
    for index in 0..<8 {
      guard let digit = hexadecimal(UInt8(bitPattern: text[index])) else { return nil }
      number = number << 4 | digit
    }
    return text[8] == 0 ? number : nil
  }

  /// Answers without a body. Without room for it, `BYWAY_ROOM` comes later.
  func answer(_ status: UInt32) {
    byway_answer(end, status, nil, 0, nil)
  }

  /// Answers with bytes that stay where they are.
  func answer(_ status: UInt32, type: StaticString, with bytes: UnsafeRawPointer, count: UInt32) {
    byway_answer_with(end, status, type.characters, bytes, count, nil)
  }

  /// Answers with a text, which is copied.
  ///
  /// - Returns: false if there is no room for it: `BYWAY_ROOM` comes later.
  @discardableResult
  func answer(_ status: UInt32, type: StaticString, text: borrowing Text) -> Bool {
    guard byway_answer(end, status, type.characters, UInt32(text.count), noStore.characters) != 0 else { return false }
    send(text)
    return true
  }

  /// Begins an answer of unknown length.
  func beginStream(type: StaticString) {
    byway_answer(end, 200, type.characters, BYWAY_UNKNOWN_LENGTH, noStore.characters)
  }

  func send(_ text: borrowing Text) {
    text.withBytes { bytes, count in _ = byway_send(end, bytes, count) }
  }

  func endStream() {
    byway_end(end)
  }
}

private var noStore: StaticString { "Cache-Control: no-store\r\n" }

extension StaticString {
  /// The text with its zero, for C.
  var characters: UnsafePointer<CChar> { UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self) }
}

private func hexadecimal(_ byte: UInt8) -> UInt32? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
  case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
  default: nil
  }
}
