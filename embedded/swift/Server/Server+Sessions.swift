extension Server {
  /// Ends the requests of the previous session.
  private mutating func beginSession<S: Service & ~Copyable>(_ service: inout S) {
    number = UInt8(Sizes.requests)
    while number > 0 {
      number &-= 1
      let index = index
      abandon(&service)
      requests[index].input = .free
      requests[index].dropStaged()
    }
    channel.streams = channel.line.session.streams
    channel.waits = Channel.noRequest
    piece = 0
    pieceLeft = 0
    turn = 0
    requests[0].reset()
    session = channel.line.session.sessions
  }

  @inline(never)
  mutating func serve<S: Service & ~Copyable>(_ service: inout S, _ now: Moment) {
    if channel.line.session.sessions != session { beginSession(&service) }
    if channel.isMultiplexed { return serveStreams(&service, now) }
    number = 0
    if requests[0].state == .over { return }
    if channel.line.session.state == .none { return abandon(&service) }
    serveRequest(&service, now)
  }

  // MARK: - Streams (section 13)

  mutating func serveStreams<S: Service & ~Copyable>(_ service: inout S, _ now: Moment) {
    if !takePieces(&service) { channel.line.abort() }
    let streams = channel.streams
    let isOver = channel.line.session.state == .none || channel.line.session.receiving.isRead
    for number in 0..<streams {
      self.number = number
      if isOver {
        abandon(&service)
      } else {
        requests[index].sendControl(&channel)
      }
    }
    if isOver {
      channel.streams = 0
      channel.line.leave(now: now)
      return
    }
    channel.waits = Channel.noRequest
    number = turn
    for _ in 0..<streams {
      if requests[index].state != .over { serveRequest(&service, now) }
      requests[index].sendControl(&channel)
      number = number &+ 1 == streams ? 0 : number &+ 1
    }
    turn = channel.waits != Channel.noRequest ? channel.waits : number &+ 1 == streams ? 0 : number &+ 1
  }

  /// Processes the pieces that have arrived. Returns false if the client has broken the protocol.
  private mutating func takePieces<S: Service & ~Copyable>(_ service: inout S) -> Bool {
    while true {
      number = piece & 15
      if pieceLeft > 0 {
        let count = requests[index].takeData(pieceLeft, &channel)
        if count == 0 { return true }
        pieceLeft &-= UInt8(truncatingIfNeeded: count)
        if pieceLeft == 0 { piece = 0 }
      } else {
        guard let byte = channel.readByte() else { return true }
        guard piece == 0 ? takeKind(byte, &service) : takeCount(byte) else { return false }
      }
    }
  }

  /// Takes the first byte of a piece. Returns false if it is not allowed.
  private mutating func takeKind<S: Service & ~Copyable>(_ byte: UInt8, _ service: inout S) -> Bool {
    guard let kind = Piece(rawValue: byte >> 4), byte & 15 < channel.streams else { return false }
    number = byte & 15
    let index = index
    if kind == .data || kind == .end {
      if requests[index].input == .free { requests[index].beginStream(credit: channel.line.session.peerCredit) }
      if requests[index].input == .ended { return false }
    }
    switch kind {
    case .abort: takeAbort(&service)
    case .end: requests[index].endInput()
    case .data, .credit: piece = byte
    }
    return true
  }

  /// Takes the second byte of DATA or CREDIT. Returns false if it is not allowed.
  private mutating func takeCount(_ count: UInt8) -> Bool {
    if count == 0 { return false }
    if piece >> 4 == Piece.credit.rawValue {
      piece = 0
      return requests[index].takeCredit(count)
    }
    if UInt16(count) > requests[index].granted { return false }
    pieceLeft = count
    return true
  }

  /// Handles ABORT of the client.
  private mutating func takeAbort<S: Service & ~Copyable>(_ service: inout S) {
    let index = index
    if requests[index].input == .free { return }
    abandon(&service)
    requests[index].dropStaged()
    if !requests[index].output.hasEnded { requests[index].output = .owesAbort }
    requests[index].endInput()
  }
}
