import CMini

/// A line of text of at most 512 bytes, on the stack. Further bytes are dropped.
struct Message: ~Copyable {
  private static var capacity: Int { 512 }
  private(set) var count = 0
  private var bytes = InlineArray<512, UInt8>(repeating: 0)

  mutating func append(_ byte: UInt8) {
    guard count < Self.capacity else { return }
    bytes[count] = byte
    count += 1
  }

  mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { for byte in $0 { append(byte) } }
  }

  mutating func append(_ text: Text) {
    for index in 0..<text.count { append(text[index]) }
  }

  /// Appends a number in decimal.
  mutating func append(_ number: UInt32) {
    if number >= 10 { append(number / 10) }
    append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
  }

  /// Appends a number as eight digits.
  mutating func append(hexadecimal number: UInt32) {
    for place in 0..<UInt32(8) {
      let digit = UInt8(truncatingIfNeeded: number >> (28 - 4 * place)) & 15
      append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
  }

  mutating func append(_ address: mini_address) {
    if address.is_unix != 0 {
      append("unix:")
      var address = address
      withUnsafeBytes(of: &address.path) { path in
        for index in 0..<Int(address.path_length) { append(path[index]) }
      }
      return
    }
    append("tcp://")
    if address.is_six != 0 {
      append("[::1]")
    } else {
      append(UInt32(address.four.0))
      append(".")
      append(UInt32(address.four.1))
      append(".")
      append(UInt32(address.four.2))
      append(".")
      append(UInt32(address.four.3))
    }
    append(":")
    append(UInt32(address.port))
  }

  /// Writes the text to a descriptor, if that does not wait.
  consuming func write(to descriptor: CInt) -> Bool {
    append("\n")
    return bytes.span.withUnsafeBufferPointer { mini_put(descriptor, $0.baseAddress, count) == count }
  }

  /// Writes the text to standard error.
  consuming func log() {
    _ = write(to: 2)
  }
}

/// An exit status of the command `byway`: docs/command-line.md.
enum ExitStatus: CInt {
  case success = 0
  case usage = 64
  case unavailable = 69
  case cannotCreate = 73
  case cannotWrite = 74
}

/// Ends the program with a message.
func stop(_ status: ExitStatus, _ message: consuming Message) -> Never {
  message.log()
  mini_exit(status.rawValue)
}

/// Begins a message of this program.
func message(_ text: StaticString) -> Message {
  var message = Message()
  message.append("byway-mini: ")
  message.append(text)
  return message
}

/// Returns a message with an argument in the middle.
func message(_ begin: StaticString, _ value: Text, _ text: StaticString) -> Message {
  var message = message(begin)
  message.append(value)
  message.append(text)
  return message
}
