/// Consistent Overhead Byte Stuffing (Cheshire and Baker, 1999): no zero inside a frame, so that a zero ends one.
///
/// Each run of up to 254 bytes without a zero is preceded by its length plus one; a length below 255 stands for the zero
/// after the run as well. At most one byte in 254 is added.
package enum COBS {
  /// Bytes that it adds to a short frame, the delimiter being one.
  static let overhead = 2
  /// The most bytes that `count` bytes become, without the delimiter.
  static func encodedBound(_ count: Int) -> Int { count + count / 254 + 1 }

  /// Appends what `bytes` become, and the zero that ends the frame.
  package static func encode(_ bytes: [UInt8], into output: inout [UInt8]) {
    bytes.withUnsafeBufferPointer { bytes in
      var start = 0
      while true {
        let limit = min(start &+ 254, bytes.count)
        let end = UnsafeRawBufferPointer(bytes).firstZero(from: start, to: limit)
        output.append(UInt8(truncatingIfNeeded: end &- start &+ 1))
        if end > start { output.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<end])) }
        if end < limit {
          // The zero itself is implied, and even a last one is followed by a run, if an empty one.
          start = end &+ 1
        } else if end == bytes.count {
          break
        } else {
          start = end
        }
      }
    }
    output.append(0)
  }

  /// Decodes in place a frame that has no zero in it. `false` where it is not a result of ``encode(_:into:)``.
  package static func decode(_ frame: inout [UInt8]) -> Bool {
    let length: Int? = frame.withUnsafeMutableBufferPointer { frame in
      guard let base = frame.baseAddress, !frame.isEmpty else { return nil }
      var input = 0
      var output = 0
      while true {
        let run = Int(frame[input]) &- 1
        input &+= 1
        guard run >= 0, input &+ run <= frame.count else { return nil }
        // The output is always behind the input.
        if run > 0 { (base + output).update(from: base + input, count: run) }
        input &+= run
        output &+= run
        if input == frame.count { return output }
        if run < 254 {
          frame[output] = 0
          output &+= 1
        }
      }
    }
    guard let length else { return false }
    frame.removeLast(frame.count - length)
    return true
  }
}
