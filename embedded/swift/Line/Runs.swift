/// The runs of an acknowledgement: alternately missing units and units that have arrived (section 4).
enum Runs {
  /// The longest list in bytes.
  static var longestList: Int { 32 }

  static func size(_ run: Int) -> Int { run < 128 ? 1 : 2 }

  /// Reads the run at an index, and moves the index after it. The list must be well-formed.
  static func next(in frame: Span<UInt8>, at index: inout Int) -> Int {
    var run = Int(frame[index])
    index &+= 1
    if run & 0x80 != 0 {
      run = (run & 0x7F) << 8 | Int(frame[index])
      index &+= 1
    }
    return run
  }

  /// Returns the units of all runs from an index to the end of the frame; `nil` if the list is malformed.
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
