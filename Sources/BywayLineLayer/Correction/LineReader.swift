/// A splitter of received bytes into frames: those that end with a zero, and those with error correction.
struct LineReader {
  enum Arrival {
    /// The bytes between two zeros. `isLeftover`: they may be the rest of a frame that could not be corrected, and say nothing about the
    /// line.
    case run([UInt8], isLeftover: Bool)
    /// A run that is longer than any frame, with its last bytes.
    case tooLong(tail: [UInt8])
    /// A body with its check after correction, the number of its wrong bytes, and the number of all its bytes.
    case corrected([UInt8], errors: Int, of: Int, isOpening: Bool)
    /// A code word with too many wrong bytes to correct.
    case uncorrectable(errors: Int, of: Int)
  }

  /// The time in nanoseconds after which an incomplete frame is dropped.
  private static let patience: UInt64 = 200_000_000
  /// The longest delay of received bytes: adapters deliver them up to 16 ms later, and schedulers add a little.
  private static let mostBatch: UInt64 = 20_000_000
  /// The next frame may begin in this many bytes at the end of a frame that could not be corrected, because some of its bytes may be lost.
  private static let slack = 16

  private(set) var deframer: Deframer
  private let largestBody: Int
  /// The number of strengths that this end corrects, from the weakest on.
  private let correction: Int
  /// The sync word of the session's frames with correction; `nil` while there is no session.
  var sync: UInt32? {
    didSet { hasCorrected = false }
  }
  /// Whether to look for HELLO and OPEN with correction.
  var looksForOpenings = false
  /// Whether to skip the search for frames of the session with correction, because the line is clean.
  var isResting = false {
    didSet { if isResting { recent = 0 } }
  }
  /// Whether the session has had a frame with correction.
  private var hasCorrected = false
  /// The latest eight bytes.
  private var recent: UInt64 = 0
  private var announced: CorrectableFrame.Header?
  /// Whether the frame is a copy of HELLO or OPEN.
  private var isOpening = false
  private var body: [UInt8] = []
  private var heardAt: UInt64 = 0
  private var isLeftover = false

  init(largestBody: Int, correction: Int) {
    self.correction = correction
    // A longer run cannot be a frame of this protocol.
    deframer = Deframer(limit: COBS.encodedBound(largestBody))
    self.largestBody = largestBody
  }

  /// The bytes of incomplete frames, and the limit of that number.
  var heldBytes: Int { deframer.heldBytes + body.count }
  var mostHeldBytes: Int {
    deframer.limit + (correction > 0 ? largestBody + Strength(index: correction - 1).parity(of: largestBody) : 0)
  }

  /// The time until which the rest of a partly received frame is expected. `nil` between frames.
  func restDue(at now: UInt64) -> UInt64? {
    guard deframer.heldBytes > 0 || announced != nil, now < heardAt + Self.mostBatch else { return nil }
    return heardAt + Self.mostBatch
  }

  /// Takes bytes up to the end of the next frame or run, or all of them. That frame may change which frames are expected after it.
  /// - Parameter start: the index of the first byte to take. It becomes the index after the last byte taken.
  mutating func receive(
    _ bytes: UnsafeRawBufferPointer, from start: inout Int, codec: inout ReedSolomon, at now: UInt64
  ) -> [Arrival] {
    var arrivals: [Arrival] = []
    if announced != nil, now > heardAt + Self.patience { dropFrame(keeping: 0, codec: &codec, &arrivals) }
    heardAt = now
    while arrivals.isEmpty, start < bytes.count { take(bytes, from: &start, codec: &codec, &arrivals) }
    return arrivals
  }

  /// Drops an incomplete frame, because the line was interrupted.
  mutating func reset() {
    deframer.reset()
    announced = nil
    body = []
    recent = 0
    isLeftover = false
  }

  // MARK: Bytes

  /// Takes the rest of an incomplete frame, or bytes up to a zero or a header.
  private mutating func take(
    _ bytes: UnsafeRawBufferPointer, from start: inout Int, codec: inout ReedSolomon, _ arrivals: inout [Arrival]
  ) {
    if let announced {
      let end = min(start + announced.length - body.count, bytes.count)
      body.append(contentsOf: bytes[start..<end])
      start = end
      if body.count == announced.length { complete(announced, codec: &codec, &arrivals) }
    } else {
      let zero = bytes.firstZero(from: start, to: bytes.count)
      let end = search(bytes, from: start, to: min(zero &+ 1, bytes.count), codec: &codec)
      deframe(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), &arrivals)
      start = end
    }
  }

  /// - Returns: the index after a header; `end` if there is none.
  private mutating func search(
    _ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int, codec: inout ReedSolomon
  ) -> Int {
    guard sync != nil && !isResting || looksForOpenings else { return end }
    let marks = looksForOpenings ? nil : sync.map(Self.marks)
    var index = start
    while index < end {
      // At least one of the three bytes of a sync word with two wrong bits is right. Eight bytes without any of those can be skipped.
      if let marks, index &+ 8 <= end, !Self.hasMark(recent, marks) {
        let word = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        if !Self.hasMark(word, marks) {
          recent = word
          index &+= 8
          continue
        }
      }
      let before = UInt32(truncatingIfNeeded: recent >> 40) & 0xFF_FFFF
      recent = recent << 8 | UInt64(bytes[index])
      index &+= 1
      if findsHeader(behind: before, codec: &codec) { return index }
    }
    return end
  }

  /// Whether the latest six bytes are a header after these three bytes.
  private mutating func findsHeader(behind lead: UInt32, codec: inout ReedSolomon) -> Bool {
    if let sync, !isResting, (lead ^ sync).nonzeroBitCount <= CorrectableFrame.tolerance {
      let header = CorrectableFrame.readHeader(recent & 0xFFFF_FFFF_FFFF, codec: &codec)
      if let header, header.count <= largestBody, header.strength.index < correction {
        announced = header
        isOpening = false
        return true
      }
    }
    guard looksForOpenings,
      (lead ^ CorrectableFrame.syncOfOpenings).nonzeroBitCount <= CorrectableFrame.tolerance,
      let header = CorrectableFrame.readHeader(recent & 0xFFFF_FFFF_FFFF, codec: &codec),
      header.count <= CorrectableFrame.longestOpening, header.strength == .ofOpenings
    else { return false }
    announced = header
    isOpening = true
    return true
  }

  /// Returns for each byte of a sync word a number with that byte eight times.
  private static func marks(_ sync: UInt32) -> (UInt64, UInt64, UInt64) {
    func spread(_ shift: UInt32) -> UInt64 { UInt64(sync >> shift & 0xFF) &* 0x0101_0101_0101_0101 }
    return (spread(16), spread(8), spread(0))
  }

  private static func hasMark(_ word: UInt64, _ marks: (UInt64, UInt64, UInt64)) -> Bool {
    func zeros(_ word: UInt64) -> UInt64 { (word &- 0x0101_0101_0101_0101) & ~word }
    return (zeros(word ^ marks.0) | zeros(word ^ marks.1) | zeros(word ^ marks.2)) & 0x8080_8080_8080_8080 != 0
  }

  private mutating func deframe(_ bytes: UnsafeRawBufferPointer, _ arrivals: inout [Arrival]) {
    for run in deframer.receive(bytes) {
      if let run {
        // A header may contain zeros.
        let isHeader =
          run.count < CorrectableFrame.leadLength && (hasCorrected || looksForOpenings && Self.beginsLikeOpening(run))
        arrivals.append(.run(run, isLeftover: isLeftover || isHeader))
      } else {
        arrivals.append(.tooLong(tail: deframer.tail))
      }
      isLeftover = false
    }
  }

  private static func beginsLikeOpening(_ run: [UInt8]) -> Bool {
    let lead = run.prefix(CorrectableFrame.syncLength).reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
    return (lead ^ CorrectableFrame.syncOfOpenings).nonzeroBitCount <= CorrectableFrame.tolerance
  }

  // MARK: Frames with correction

  private mutating func complete(
    _ announced: CorrectableFrame.Header, codec: inout ReedSolomon, _ arrivals: inout [Arrival]
  ) {
    let length = CorrectableFrame.leadLength + announced.length
    if let errors = CorrectableFrame.correct(&body, announced, codec: &codec) {
      arrivals.append(.corrected(body, errors: errors, of: length, isOpening: isOpening))
      if !isOpening { hasCorrected = true }
      self.announced = nil
      body = []
      recent = 0
      // The run of the deframer is this header and what came before it.
      deframer.reset()
      isLeftover = false
    } else {
      let words = announced.strength.words(announced.count)
      arrivals.append(.uncorrectable(errors: announced.strength.errors + 1, of: max(announced.length / words, 1)))
      dropFrame(keeping: min(Self.slack, body.count), codec: &codec, &arrivals)
    }
  }

  /// Drops a frame that could not be corrected. If bytes were lost, the next frame begins within its end. If the header was a part of
  /// something else, the bytes after it are searched again.
  private mutating func dropFrame(keeping count: Int, codec: inout ReedSolomon, _ arrivals: inout [Arrival]) {
    let broken = body
    announced = nil
    body = []
    recent = 0
    isLeftover = true
    broken.withUnsafeBytes { bytes in
      let end = bytes.count - count
      var index = 0
      // All runs that end in these bytes are leftovers.
      while index < end {
        isLeftover = true
        let zero = bytes.firstZero(from: index, to: end)
        deframe(UnsafeRawBufferPointer(rebasing: bytes[index..<min(zero &+ 1, end)]), &arrivals)
        index = zero &+ 1
      }
      isLeftover = deframer.heldBytes > 0
      let rest = UnsafeRawBufferPointer(rebasing: bytes[end...])
      var start = 0
      while start < rest.count { take(rest, from: &start, codec: &codec, &arrivals) }
    }
  }
}
