/// Consistent Overhead Byte Stuffing (Cheshire and Baker, 1999). A stuffed frame has no zeros, so a zero marks its end.
///
/// Each run of up to 254 bytes without a zero is preceded by its length plus one; a length below 255 stands for the zero
/// after the run as well. At most one byte in 254 is added.
package enum COBS {
  /// The bytes added to a short frame, including the delimiter.
  static let overhead = 2
  /// Returns the largest stuffed length of `count` bytes, without the delimiter.
  static func encodedBound(_ count: Int) -> Int { count + count / 254 + 1 }

  /// Appends the stuffed bytes and a zero.
  package static func encode(_ bytes: [UInt8], into output: inout [UInt8]) {
    output.append(addingCapacity: encodedBound(bytes.count) + 1) { span in
      span.withUnsafeMutableBufferPointer { buffer, count in
        count = bytes.withUnsafeBytes { encode($0, into: UnsafeMutableRawBufferPointer(buffer), from: count) }
      }
    }
  }

  /// - Parameter output: a buffer with room for ``encodedBound(_:)`` bytes and a delimiter.
  /// - Returns: the end of the written bytes.
  private static func encode(
    _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, from position: Int
  ) -> Int {
    var position = position
    var start = 0
    while true {
      let limit = min(start &+ 254, bytes.count)
      let end = bytes.firstZero(from: start, to: limit)
      let length = end &- start
      output[position] = UInt8(truncatingIfNeeded: length &+ 1)
      position &+= 1
      if length > 0 {
        UnsafeMutableRawBufferPointer(rebasing: output[position..<position &+ length])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
        position &+= length
      }
      if end < limit {
        // The code of the run stands for the zero. A zero at the end is followed by an empty run.
        start = end &+ 1
      } else if end == bytes.count {
        break
      } else {
        start = end
      }
    }
    output[position] = 0
    return position &+ 1
  }

  /// Decodes a frame without zeros in place. `false` if it is not a valid result of ``encode(_:into:)``.
  package static func decode(_ frame: inout [UInt8]) -> Bool {
    let length: Int? = frame.withUnsafeMutableBufferPointer { frame in
      guard let base = frame.baseAddress, !frame.isEmpty else { return nil }
      var input = 0
      var output = 0
      while true {
        let run = Int(frame[input]) &- 1
        input &+= 1
        guard run >= 0, input &+ run <= frame.count else { return nil }
        // The output never overtakes the input.
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
