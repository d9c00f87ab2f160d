/// Consistent Overhead Byte Stuffing in place (section 1). A stuffed frame has no zeros, so a zero marks its end.
enum Stuffing {
  /// Decodes bytes without a zero. Returns the new length; `nil` if the bytes are not valid.
  static func decode(_ bytes: inout MutableSpan<UInt8>, count: Int) -> Int? {
    var from = 0
    var to = 0
    while from < count {
      let code = Int(bytes[from])
      from &+= 1
      guard code > 0, from &+ code &- 1 <= count else { return nil }
      for _ in 1..<code {
        bytes[to] = bytes[from]
        to &+= 1
        from &+= 1
      }
      if code < 255, from < count {
        bytes[to] = 0
        to &+= 1
      }
    }
    return to
  }

  /// Encodes `count` bytes from `start` on. The result begins 1 + `count` / 254 bytes before `start`.
  /// - Returns: the index after the result.
  static func encode(_ bytes: inout MutableSpan<UInt8>, from start: Int, count: Int) -> Int {
    var code = start &- 1 &- count / 254
    var to = code &+ 1
    let end = start &+ count
    for from in start..<end {
      let byte = bytes[from]
      if byte != 0 {
        bytes[to] = byte
        to &+= 1
      }
      if byte == 0 || (to &- code == 255 && from &+ 1 < end) {
        bytes[code] = UInt8(truncatingIfNeeded: to &- code)
        code = to
        to &+= 1
      }
    }
    bytes[code] = UInt8(truncatingIfNeeded: to &- code)
    return to
  }
}
