/// The runs of an acknowledgement: units that are missing and that have arrived, in turns (section 4).
enum Runs {
  /// Bytes of the longest list.
  static var longestList: Int { 32 }

  static func size(_ run: Int) -> Int { run < 128 ? 1 : 2 }

  /// Reads the run at a place, and moves the place behind it. The list is well-formed.
  static func next(in frame: Span<UInt8>, at index: inout Int) -> Int {
    var run = Int(frame[index])
    index &+= 1
    if run & 0x80 != 0 {
      run = (run & 0x7F) << 8 | Int(frame[index])
      index &+= 1
    }
    return run
  }

  /// The units of all runs from a place to the frame's end; `nil` if the list is malformed.
  @inline(never)
  static func length(in frame: Span<UInt8>, from start: Int) -> Int? {
    guard frame.count &- start <= longestList else { return nil }
    var index = start
    var length = 0
    while index < frame.count {
      if frame[index] & 0x80 != 0, frame.count &- index < 2 { return nil }
      let run = next(in: frame, at: &index)
      guard run > 0 else { return nil }
      length &+= run
    }
    return length
  }
}
