/// A received frame with error correction: a sync word of three bytes, a header of six, and a body in code words (section 7).
struct CorrectedFrame: ~Copyable {
  /// The contents of a header.
  struct Header {
    private var index: UInt8 = 0
    /// Whether it follows the sync word of openings, and so is a copy of HELLO or OPEN.
    private(set) var isCopy = false
    private var count: UInt16 = 0
    /// The bytes of the body with its check and parity; 0 if there is no header.
    private var whole: UInt16 = 0

    init() {}

    init(_ strength: Strength, body: Int, isCopy: Bool) {
      index = UInt8(truncatingIfNeeded: strength.index)
      self.isCopy = isCopy
      count = UInt16(truncatingIfNeeded: body)
      whole = UInt16(truncatingIfNeeded: body &+ strength.parity(of: body))
    }

    var strength: Strength { Strength(index: Int(index)) }
    /// The bytes of the body with its check, and with its parity as well.
    var body: Int { Int(count) }
    var length: Int { Int(whole) }
  }

  static var leadLength: Int { 9 }
  /// The sync word of copies of HELLO and OPEN.
  static var syncOfOpenings: UInt32 { 0x8C28B2 }
  /// The largest body of such a copy in bytes.
  private static var longestOpening: Int { 32 }
  /// The smallest body in bytes: a kind and a check.
  private static var shortestBody: Int { 5 }

  /// Returns the header as a code word: two bytes of data and four of parity.
  static func header(at start: Int) -> CodeWord {
    CodeWord(start: start, count: 2, stride: 1, parityStart: start &+ 2, parity: 4)
  }

  static func sync(of seal: UInt32) -> UInt32 { ~seal >> 8 }

  /// The latest nine bytes, how many of them are valid, and the frame that they announce.
  private var lead: InlineArray<9, UInt8> = .init(repeating: 0)
  private var leadCount: UInt8 = 0
  private(set) var header = Header()
  private(set) var count: UInt16 = 0
  private var memory: Sizes.Corrected = .init(repeating: 0)
  /// Whether a copy may follow, because the latest frame was an OPEN.
  var isBehindOpen = false
  /// The number of bytes since a damaged run, plus one; 0 if there was none.
  private var damage: UInt8 = 0

  var isArriving: Bool { header.length > 0 }

  mutating func start() {
    header = Header()
    leadCount = 0
    count = 0
    isBehindOpen = false
    damage = 0
  }

  // MARK: - Beginning of a frame

  /// Takes a byte that belongs to no frame, but may be part of a sync word or header.
  mutating func slide(_ byte: UInt8) {
    for index in 0..<8 { lead[index] = lead[index &+ 1] }
    lead[8] = byte
    if leadCount < 9 { leadCount &+= 1 }
  }

  /// Looks for a sync word and header in the latest nine bytes.
  /// - Parameters:
  /// - seal: the seal of the session, if the session has one.
  /// - awaitsCopy: whether a copy of HELLO or OPEN may come.
  /// - Returns: the number of wrong bytes in the header; `nil` if there is none.
  mutating func find(seal: UInt32, isNamed: Bool, awaitsCopy: Bool) -> Int? {
    guard leadCount == 9 else { return nil }
    let sync = UInt32(lead[0]) << 16 | UInt32(lead[1]) << 8 | UInt32(lead[2])
    let isCopy = awaitsCopy && (sync ^ Self.syncOfOpenings).nonzeroBitCount <= 2
    if !isCopy {
      guard isNamed, (sync ^ Self.sync(of: seal)).nonzeroBitCount <= 2 else { return nil }
    }
    return readHeader(isCopy: isCopy)
  }

  private mutating func readHeader(isCopy: Bool) -> Int? {
    var bytes: InlineArray<6, UInt8> = .init { self.lead[$0 &+ 3] }
    var changes = ReedSolomon.Changes()
    var span = bytes.mutableSpan
    guard let wrong = ReedSolomon.correct(Self.header(at: 0), in: &span, &changes) else { return nil }
    let index = Int(span[0] >> 4)
    let body = Int(span[0] & 15) << 8 | Int(span[1])
    guard body >= Self.shortestBody, body <= (isCopy ? Self.longestOpening : Sizes.body) else { return nil }
    guard isCopy ? index == Strength.ofOpenings.index : index < Sizes.strengths else { return nil }
    header = Header(Strength(index: index), body: body, isCopy: isCopy)
    count = 0
    return wrong
  }

  // MARK: - Body of a frame

  /// Takes a byte of the frame. Returns whether it is the last one.
  mutating func add(_ byte: UInt8) -> Bool {
    memory[Int(count)] = byte
    count &+= 1
    return Int(count) == header.length
  }

  /// Corrects the frame. Returns the number of wrong bytes; `nil` if there are too many, and the frame stays as it is.
  mutating func correct(_ changes: inout ReedSolomon.Changes) -> Int? {
    var bytes = memory.mutableSpan
    var wrong = 0
    for index in 0..<header.strength.words(for: header.body) {
      let word = header.strength.word(index, of: header.body, at: 0)
      guard let fixed = ReedSolomon.correct(word, in: &bytes, &changes) else {
        changes.apply(to: &bytes, from: 0)
        return nil
      }
      wrong &+= fixed
    }
    return wrong
  }

  /// Reverses the changes of `correct`.
  mutating func undo(_ changes: inout ReedSolomon.Changes) {
    var bytes = memory.mutableSpan
    changes.apply(to: &bytes, from: 0)
  }

  var bytes: Span<UInt8> { @_lifetime(borrow self) get { memory.span } }

  /// Ends a frame that was valid.
  mutating func end() {
    header = Header()
    leadCount = 0
    isBehindOpen = false
  }

  /// Drops a frame that could not be corrected, or whose rest did not arrive. Returns the number of bytes to read again.
  ///
  /// The next frame may begin in the last 16 of them.
  mutating func giveUp() -> Int {
    header = Header()
    leadCount = count >= 16 ? 0 : count > 8 ? 16 &- UInt8(truncatingIfNeeded: count) : 8
    return Int(count)
  }

  mutating func byte(_ index: Int) -> UInt8 { memory[index] }

  /// Drops the frame, because the line is lost.
  mutating func drop() {
    header = Header()
    leadCount = 0
  }

  // MARK: - Damaged runs

  /// Notes that a run between zeros was not a frame.
  mutating func noteDamage() {
    if damage == 0 { damage = 1 }
  }

  /// Counts a damaged run only after nine more bytes, because a zero in the sync word or header of a frame does not end a run.
  /// - Parameter isFound: whether such a frame has begun.
  /// - Returns: whether the run counts now.
  mutating func ageDamage(isFound: Bool) -> Bool {
    let counts = damage == 10
    if counts || isFound { damage = 0 }
    if damage > 0 { damage &+= 1 }
    return counts
  }
}
