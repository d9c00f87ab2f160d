import NIOCore
import Primitives

/// Text as bytes, without a string for each part.
extension [UInt8] {
  mutating func append(_ text: StaticString) {
    self += UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  /// - Parameter digits: at least so many, with zeros in front.
  mutating func append(decimal number: Int, digits: Int = 1) {
    guard number >= 0 else { return self += "\(number)".utf8 }
    var divisor = 1
    var places = 1
    while places < digits || number / divisor >= 10 {
      divisor *= 10
      places += 1
    }
    while divisor > 0 {
      append(UInt8(truncatingIfNeeded: 0x30 + number / divisor % 10))
      divisor /= 10
    }
  }

  /// As Apache escapes what comes from outside.
  mutating func append(escaping value: UnsafeRawBufferPointer) {
    if value.allSatisfy({ $0.isPlain }) { return self += value }
    for byte in value {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): self += [UInt8(ascii: "\\"), byte]
      case 0x20..<0x7F: append(byte)
      default: self += "\\x\(Hex.text(CollectionOfOne(byte)))".utf8
      }
    }
  }

  // MARK: Members of a JSON object

  /// - Parameter name: with what stands around it.
  mutating func append(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
    append(name)
    guard value.allSatisfy({ $0.isPlain }) else {
      return JSON.write(String(decoding: value, as: UTF8.self), to: &self)
    }
    append(UInt8(ascii: "\""))
    self += value
    append(UInt8(ascii: "\""))
  }

  mutating func append(_ name: StaticString, _ value: Int) {
    append(name)
    append(decimal: value)
  }

  /// In seconds, to a millionth.
  mutating func append(_ name: StaticString, _ time: TimeAmount) {
    let microseconds = Int(Swift.max(0, time.nanoseconds) / 1000)
    append(name)
    append(decimal: microseconds / 1_000_000)
    append(UInt8(ascii: "."))
    append(decimal: microseconds % 1_000_000, digits: 6)
  }
}

extension UInt8 {
  /// Printable, and in no need of an escape.
  fileprivate var isPlain: Bool { self >= 0x20 && self < 0x7F && self != 0x22 && self != 0x5C }
}
