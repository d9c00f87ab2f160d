import CByway

/// The request under way at an end of a line, and its answer.
///
/// It is a pointer to the end, so it is free to copy. Nothing here allocates memory.
struct Exchange {
  let end: UnsafeMutablePointer<byway>

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

  /// Answers without a body.
  func answer(_ status: UInt32) {
    byway_answer(end, status, nil, 0, nil)
  }

  /// Answers with bytes that stay where they are.
  func answer(_ status: UInt32, type: StaticString, with bytes: UnsafeRawPointer, count: UInt32) {
    byway_answer_with(end, status, type.characters, bytes, count, nil)
  }

  /// Answers with a text, which is copied.
  func answer(_ status: UInt32, type: StaticString, text: borrowing Text) {
    guard byway_answer(end, status, type.characters, UInt32(text.count), noStore.characters) != 0 else { return }
    send(text)
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
