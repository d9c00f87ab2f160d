/// The frame to send. There is free space before its body, for a zero and the codes of COBS, or for a sync word and a header.
struct OutgoingFrame: ~Copyable {
  private var memory: Sizes.Outgoing = .init(repeating: 0)
  /// The index after the body.
  private var end = 0
  /// The index of the first byte on the wire, and the length on the wire.
  private var wireStart: UInt16 = 0
  private var wireLength: UInt16 = 0

  static var lead: Int { Sizes.lead }

  var wireCount: Int { Int(wireLength) }

  /// The bytes on the wire.
  var wire: Span<UInt8> {
    @_lifetime(borrow self)
    get { memory.span.extracting(Int(wireStart)..<Int(wireStart) &+ wireCount) }
  }

  // MARK: - The body

  mutating func begin() {
    end = Self.lead
  }

  /// The first byte of the body.
  var kind: FrameKind {
    get { FrameKind(code: memory[Self.lead]) }
    set { memory[Self.lead] = newValue.code }
  }

  var count: Int { end &- Self.lead }

  @inline(never)
  mutating func append(_ byte: UInt8) {
    memory[end] = byte
    end &+= 1
  }

  mutating func append(_ kind: FrameKind) { append(kind.code) }

  mutating func append(_ number: UInt16) {
    append(UInt8(truncatingIfNeeded: number >> 8))
    append(UInt8(truncatingIfNeeded: number))
  }

  mutating func append(_ number: UInt32) {
    append(UInt16(truncatingIfNeeded: number >> 16))
    append(UInt16(truncatingIfNeeded: number))
  }

  mutating func append(run: Int) {
    if run >= 128 { append(UInt8(truncatingIfNeeded: 0x80 | run >> 8)) }
    append(UInt8(truncatingIfNeeded: run))
  }

  /// Appends the check. `seal` is the state of a checksum over the name of the session, or the initial state.
  private mutating func appendCheck(_ seal: UInt32) {
    var checksum = Checksum(state: kind.isSealed ? seal : 0xFFFF_FFFF)
    checksum.add(memory.span.extracting(Self.lead..<end))
    append(checksum.value)
  }

  // MARK: - The wire

  /// Makes a frame without correction from the body.
  /// - Parameter needsZero: whether a zero must precede the frame (section 1).
  mutating func stuff(seal: UInt32, needsZero: Bool) {
    appendCheck(seal)
    let count = count
    var start = Self.lead &- 1 &- count / 254
    var bytes = memory.mutableSpan
    var stop = Stuffing.encode(&bytes, from: Self.lead, count: count)
    bytes[stop] = 0
    stop &+= 1
    if needsZero {
      start &-= 1
      bytes[start] = 0
    }
    setWire(start, stop)
  }

  /// Makes a frame with correction from the body.
  mutating func protect(_ strength: Strength, sync: UInt32, seal: UInt32) {
    appendCheck(seal)
    let count = count
    let start = Self.lead &- CorrectedFrame.leadLength
    end = start
    append(UInt8(truncatingIfNeeded: sync >> 16))
    append(UInt16(truncatingIfNeeded: sync))
    append(UInt16(truncatingIfNeeded: strength.index << 12 | count))
    var bytes = memory.mutableSpan
    ReedSolomon.addParity(to: CorrectedFrame.header(at: start &+ 3), in: &bytes)
    for index in 0..<strength.words(for: count) {
      ReedSolomon.addParity(to: strength.word(index, of: count, at: Self.lead), in: &bytes)
    }
    setWire(start, Self.lead &+ count &+ strength.parity(of: count))
  }

  private mutating func setWire(_ start: Int, _ stop: Int) {
    wireStart = UInt16(truncatingIfNeeded: start)
    wireLength = UInt16(truncatingIfNeeded: stop &- start)
  }
}
