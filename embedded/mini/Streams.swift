import CMini

/// The server's end of the streams of a session: docs/wire-protocol.md, section 13. Connection n belongs to stream n.
///
/// An instance has only the state of the parser. The credit and state of each stream are in memory of C, and static functions change them.
struct Streams {
  enum Event {
    /// The client begins a stream.
    case begun(Int)
    /// So many bytes of the stream are the next ones of the line, or will be.
    case data(Int, count: Int)
    case ended(Int)
    case aborted(Int)
    /// The client has broken the protocol.
    case violated
  }

  private enum Expected {
    case kind
    case length(Int)
    case data(Int, left: Int)
    case end(Int)
    case abort(Int)
    case units(Int)
  }

  private static var mostCredit: UInt32 { 65_535 }
  private static var unit: UInt32 { 64 }
  /// The bytes that may wait in the line layer while streams take turns.
  private static var mostUnsent: Int { 512 }
  static var longestPiece: Int { 255 }

  private var expected = Expected.kind
  /// The number of streams of the session; 0 if it is one stream of bytes.
  private(set) var count = 0

  private static func at(_ number: Int) -> UnsafeMutablePointer<mini_stream> { mini_stream_of(UInt32(number)) }

  /// A session has begun.
  mutating func begin() {
    expected = .kind
    count = Int(byway_line_streams(mini_line()))
    for number in 0..<count { Streams.at(number).pointee = mini_stream() }
  }

  /// Reads nothing more of the session.
  mutating func stop() {
    count = 0
  }

  // MARK: - Receiving

  /// Returns what the client says next; nil if that has not arrived.
  mutating func next() -> Event? {
    while true {
      switch expected {
      case .data(let number, let left): return .data(number, count: left)
      case .end(let number):
        expected = .kind
        return end(number) ? .ended(number) : .violated
      case .abort(let number):
        expected = .kind
        let stream = Streams.at(number)
        if stream.pointee.in_use == 0 { continue }
        stream.pointee.has_ended = 1
        Streams.abort(number)
        return .aborted(number)
      case .kind:
        guard let byte = Streams.byte() else { return nil }
        let number = Int(byte & 0x0F)
        guard number < count, let expected = Streams.expected(byte >> 4, number) else { return .violated }
        self.expected = expected
        if byte >> 4 <= 2, begin(number) { return .begun(number) }
      case .length(let number):
        guard let length = Streams.byte() else { return nil }
        let stream = Streams.at(number)
        guard length > 0, stream.pointee.has_ended == 0, UInt32(length) <= stream.pointee.granted else {
          return .violated
        }
        stream.pointee.granted -= UInt32(length)
        expected = .data(number, left: Int(length))
      case .units(let number):
        guard let units = Streams.byte() else { return nil }
        expected = .kind
        let stream = Streams.at(number)
        guard units > 0 else { return .violated }
        if stream.pointee.in_use == 0 { continue }
        stream.pointee.credit += UInt32(units) * Streams.unit
        if stream.pointee.credit > Streams.mostCredit { return .violated }
      }
    }
  }

  /// So many of the bytes of `data` were read from the line.
  mutating func took(_ count: Int) {
    guard case .data(let number, let left) = expected else { return }
    expected = count < left ? .data(number, left: left - count) : .kind
  }

  private static func expected(_ kind: UInt8, _ number: Int) -> Expected? {
    switch kind {
    case 1: .length(number)
    case 2: .end(number)
    case 3: .abort(number)
    case 4: .units(number)
    default: nil
    }
  }

  private static func byte() -> UInt8? {
    var byte: UInt8 = 0
    return byway_line_read(mini_line(), &byte, 1) == 1 ? byte : nil
  }

  /// Returns false if the stream is in use already.
  private func begin(_ number: Int) -> Bool {
    let stream = Streams.at(number)
    if stream.pointee.in_use != 0 { return false }
    stream.pointee = mini_stream(
      in_use: 1, has_ended: 0, has_sent: 0, output: UInt8(MINI_OPEN.rawValue),
      credit: byway_line_peer_credit(mini_line()),
      granted: UInt32(MINI_BUFFER), owed: 0)
    return true
  }

  private func end(_ number: Int) -> Bool {
    let stream = Streams.at(number)
    if stream.pointee.has_ended != 0 { return false }
    stream.pointee.has_ended = 1
    Streams.freeIfOver(stream)
    return true
  }

  // MARK: - Sending

  /// The client has sent bytes that are not in the buffer any more.
  static func consumed(_ count: Int, of number: Int) {
    Streams.at(number).pointee.owed += UInt32(count)
  }

  /// Ends the direction to the client.
  static func finish(_ number: Int) {
    let stream = Streams.at(number)
    if output(stream) == MINI_OPEN { set(stream, MINI_ENDING) }
  }

  /// Gives a stream up.
  static func abort(_ number: Int) {
    let stream = Streams.at(number)
    if stream.pointee.in_use != 0, output(stream) == MINI_OPEN || output(stream) == MINI_ENDING {
      set(stream, MINI_ABORTING)
    }
    freeIfOver(stream)
  }

  /// Writes a piece, at most one of a stream in each pass.
  static func write(_ bytes: (start: UnsafeMutablePointer<UInt8>, count: Int), to number: Int) -> Transfer {
    let stream = Streams.at(number)
    guard stream.pointee.in_use != 0, output(stream) == MINI_OPEN else { return .failure }
    guard stream.pointee.has_sent == 0, byway_line_unsent(mini_line()) < mostUnsent else { return .wait }
    let room = byway_line_room(mini_line())
    let count = min(min(bytes.count, Int(stream.pointee.credit)), min(longestPiece, room > 2 ? room - 2 : 0))
    guard count > 0 else { return .wait }
    put(1, number, UInt8(count))
    byway_line_write(mini_line(), bytes.start, count)
    stream.pointee.credit -= UInt32(count)
    stream.pointee.has_sent = 1
    return .bytes(count)
  }

  /// Writes ends, aborts and credit, and lets each stream send another piece.
  func flush() {
    for number in 0..<count {
      let stream = Streams.at(number)
      stream.pointee.has_sent = 0
      guard stream.pointee.in_use != 0, byway_line_room(mini_line()) >= 2 else { continue }
      switch Streams.output(stream) {
      case MINI_ENDING:
        Streams.put(2, number, nil)
        Streams.set(stream, MINI_ENDED)
        Streams.freeIfOver(stream)
      case MINI_ABORTING:
        Streams.put(3, number, nil)
        Streams.set(stream, MINI_ABORTED)
        Streams.freeIfOver(stream)
      case MINI_OPEN:
        let units = stream.pointee.owed / Streams.unit
        guard stream.pointee.has_ended == 0, units * Streams.unit * 2 >= UInt32(MINI_BUFFER) else { continue }
        Streams.put(4, number, UInt8(min(units, 255)))
        stream.pointee.owed -= min(units, 255) * Streams.unit
        stream.pointee.granted += min(units, 255) * Streams.unit
      default: break
      }
    }
  }

  private static func put(_ kind: UInt8, _ number: Int, _ more: UInt8?) {
    var first = kind << 4 | UInt8(truncatingIfNeeded: number)
    byway_line_write(mini_line(), &first, 1)
    if var more { byway_line_write(mini_line(), &more, 1) }
  }

  private static func output(_ stream: UnsafeMutablePointer<mini_stream>) -> mini_output {
    mini_output(rawValue: numericCast(stream.pointee.output))
  }

  private static func set(_ stream: UnsafeMutablePointer<mini_stream>, _ output: mini_output) {
    stream.pointee.output = UInt8(truncatingIfNeeded: output.rawValue)
  }

  private static func freeIfOver(_ stream: UnsafeMutablePointer<mini_stream>) {
    guard stream.pointee.has_ended != 0 else { return }
    if output(stream) == MINI_ENDED || output(stream) == MINI_ABORTED { stream.pointee.in_use = 0 }
  }
}
