/// An end of the streams of a session: docs/wire-protocol.md, section 13.
///
/// A state machine without I/O and clock. ``receive(_:)`` takes bytes of the session, and events come out. ``nextOutput(upTo:into:)``
/// returns bytes to send. Call it as late as possible.
package struct Multiplexer: Sendable {
  package enum Role: Sendable {
    /// Begins streams.
    case client
    case server
  }

  package enum Event: Equatable, Sendable {
    /// The client has begun a stream.
    case opened(Int)
    case received(Int, [UInt8])
    /// The peer has ended its direction of the stream.
    case ended(Int)
    /// The peer has aborted the stream, or accepts no more data of it.
    case aborted(Int)
    /// Both directions have ended, so the client may use the number for another stream.
    case freed(Int)
    /// The peer has broken the protocol. Nothing more is received, and the owner must abort the session.
    case violated(String)
  }

  /// The largest credit in bytes.
  static let largestCredit = 65_535
  static let largestPiece = 255
  /// The bytes of a DATA piece besides its payload.
  static let overhead = 2

  package let role: Role
  let ownCredit, peerCredit: Int
  private(set) var streams: [MultiplexedStream]
  private var reader = PieceReader()
  private var events = Queue<Event>()
  private var isBroken = false
  /// The stream that sends next.
  private var turn = 0

  package init(_ role: Role, _ agreement: StreamAgreement) {
    self.role = role
    ownCredit = agreement.ownCredit
    peerCredit = agreement.peerCredit
    streams = Array(repeating: .free, count: agreement.count)
  }

  package var count: Int { streams.count }

  /// Whether no stream is in use.
  package var isIdle: Bool { streams.allSatisfy { $0.isFree } }

  package mutating func nextEvent() -> Event? { events.popFirst() }

  // MARK: Owner

  /// Begins a stream.
  /// - Returns: its number; `nil` if none is free.
  package mutating func open() -> Int? {
    guard role == .client, !isBroken, let stream = streams.firstIndex(where: { $0.isFree }) else { return nil }
    streams[stream] = MultiplexedStream(credit: peerCredit, granted: ownCredit)
    return stream
  }

  /// Returns how many bytes to write to a stream now.
  package func room(of stream: Int) -> Int {
    guard streams[stream].isWritable, streams[stream].pending.isEmpty else { return 0 }
    // If no more credit can come, a write aborts the stream.
    return max(streams[stream].credit, streams[stream].hasEnded ? 1 : 0)
  }

  /// Whether the peer has ended its direction.
  package func hasEnded(_ stream: Int) -> Bool { streams[stream].hasEnded }

  /// Returns the bytes that were written to a stream and not sent.
  package func backlog(of stream: Int) -> Int { streams[stream].pending.count }

  package mutating func write(_ bytes: UnsafeRawBufferPointer, to stream: Int) {
    if streams[stream].isWritable { streams[stream].pending.append(bytes) }
  }

  /// Ends the sending direction after the written bytes.
  package mutating func finish(_ stream: Int) {
    if streams[stream].output == .open { streams[stream].output = .ending }
  }

  /// Aborts a stream. Pending and received data is dropped.
  package mutating func abort(_ stream: Int) {
    guard !streams[stream].isFree else { return }
    if !streams[stream].hasBegun {
      // The peer does not know the stream.
      free(stream)
    } else {
      abortOutput(stream)
    }
  }

  private mutating func abortOutput(_ stream: Int) {
    let isLate = role == .server && streams[stream].output == .ended
    if isLate || streams[stream].output == .aborted { return }
    streams[stream].output = .aborting
    streams[stream].pending = PendingBytes()
    streams[stream].owed = 0
  }

  /// Notes that the owner has consumed received bytes.
  package mutating func consumed(_ count: Int, of stream: Int) {
    if streams[stream].mayGrant(role) { streams[stream].owed += count }
  }

  // MARK: Sending

  /// Appends pieces with at most `room` bytes in total.
  /// - Returns: whether there were any.
  package mutating func nextOutput(upTo room: Int, into output: inout [UInt8]) -> Bool {
    let start = output.count
    guard !isBroken else { return false }
    for stream in streams.indices where output.count - start + Self.overhead <= room {
      appendControl(stream, to: &output)
    }
    let first = turn
    for step in streams.indices {
      let stream = (first + step) % streams.count
      let left = room - (output.count - start) - Self.overhead
      guard left > 0 else { break }
      appendData(stream, left, to: &output)
    }
    return output.count > start
  }

  private mutating func appendControl(_ stream: Int, to output: inout [UInt8]) {
    switch streams[stream].output {
    case .aborting:
      output.append(Piece.Kind.abort.rawValue << 4 | UInt8(stream))
      streams[stream].output = .aborted
      freeIfOver(stream)
    case .ending where streams[stream].pending.isEmpty:
      appendEnd(stream, to: &output)
    case .open, .ending, .ended:
      let units = min(streams[stream].owed / StreamOffer.unit, 255)
      guard units * StreamOffer.unit * 2 >= ownCredit || units == 255, streams[stream].mayGrant(role) else { return }
      streams[stream].owed -= units * StreamOffer.unit
      streams[stream].granted += units * StreamOffer.unit
      output += [Piece.Kind.credit.rawValue << 4 | UInt8(stream), UInt8(units)]
    case .aborted: break
    }
  }

  private mutating func appendEnd(_ stream: Int, to output: inout [UInt8]) {
    output.append(Piece.Kind.end.rawValue << 4 | UInt8(stream))
    streams[stream].output = .ended
    streams[stream].hasBegun = true
    freeIfOver(stream)
  }

  private mutating func appendData(_ stream: Int, _ room: Int, to output: inout [UInt8]) {
    let count = min(streams[stream].pending.count, streams[stream].credit, room, Self.largestPiece)
    guard count > 0 else { return abortIfStuck(stream) }
    output += [Piece.Kind.data.rawValue << 4 | UInt8(stream), UInt8(count)]
    output += streams[stream].pending.take(count)
    streams[stream].credit -= count
    streams[stream].hasBegun = true
    turn = (stream + 1) % streams.count
    if streams[stream].output == .ending, streams[stream].pending.isEmpty, room > count {
      appendEnd(stream, to: &output)
    }
  }

  /// Aborts a stream that waits for credit from a server that has ended it.
  private mutating func abortIfStuck(_ stream: Int) {
    guard role == .client, streams[stream].hasEnded, streams[stream].credit == 0, !streams[stream].pending.isEmpty
    else {
      return
    }
    abortOutput(stream)
    events.append(.aborted(stream))
  }

  // MARK: Receiving

  /// Takes bytes of the session, split anywhere.
  package mutating func receive(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes[...]
    while !isBroken, let piece = reader.next(&rest) { take(piece) }
  }

  private mutating func take(_ piece: Piece) {
    guard piece.stream < streams.count else { return violated("names stream \(piece.stream) of \(streams.count)") }
    let stream = piece.stream
    if !streams[stream].hasBegun {
      guard role == .server else { return violated("sends on a stream that is free") }
      switch piece.content {
      case .data, .end: begin(stream)
      case .abort, .credit: return
      case .invalid: break
      }
    }
    switch piece.content {
    case .data(let bytes): take(bytes, on: stream)
    case .end: takeEnd(of: stream)
    case .abort: takeAbort(of: stream)
    case .credit(let units): take(units, on: stream)
    case .invalid: violated("sends a piece of an unknown kind or of no length")
    }
  }

  private mutating func begin(_ stream: Int) {
    streams[stream] = MultiplexedStream(credit: peerCredit, granted: ownCredit)
    streams[stream].hasBegun = true
    events.append(.opened(stream))
  }

  private mutating func take(_ bytes: [UInt8], on stream: Int) {
    guard !streams[stream].hasEnded else { return violated("sends data behind the end of a stream") }
    guard bytes.count <= streams[stream].granted else { return violated("sends more data than it was granted") }
    streams[stream].granted -= bytes.count
    if streams[stream].isGivenUp { return }
    events.append(.received(stream, bytes))
  }

  private mutating func takeEnd(of stream: Int) {
    guard !streams[stream].hasEnded else { return violated("ends a stream twice") }
    streams[stream].hasEnded = true
    if !streams[stream].isGivenUp { events.append(.ended(stream)) }
    freeIfOver(stream)
  }

  private mutating func takeAbort(of stream: Int) {
    // The client may abort a stream that it has ended.
    guard !streams[stream].hasEnded || role == .server else { return violated("ends a stream twice") }
    streams[stream].hasEnded = true
    if !streams[stream].isGivenUp { events.append(.aborted(stream)) }
    if streams[stream].output != .ended { abortOutput(stream) }
    freeIfOver(stream)
  }

  private mutating func take(_ units: Int, on stream: Int) {
    guard streams[stream].output != .aborted, streams[stream].output != .aborting else { return }
    streams[stream].credit += units * StreamOffer.unit
    if streams[stream].credit > Self.largestCredit { violated("grants more than 65,535 bytes") }
  }

  private mutating func violated(_ reason: String) {
    isBroken = true
    events.append(.violated(reason))
  }

  private mutating func freeIfOver(_ stream: Int) {
    guard streams[stream].hasEnded else { return }
    if streams[stream].output == .ended || streams[stream].output == .aborted { free(stream) }
  }

  private mutating func free(_ stream: Int) {
    streams[stream] = .free
    events.append(.freed(stream))
  }
}
