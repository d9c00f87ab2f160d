/// The kinds of pieces (section 13 of docs/wire-protocol.md).
enum Piece: UInt8 {
  case data = 1
  case end
  case abort
  case credit
}

extension Request {
  /// The bytes of a unit of credit.
  private static var unit: Int { 64 }
  /// The least initial credit of a client in bytes. Up to half of it may be used before the head of the answer.
  private static var leastCredit: UInt16 { 512 }

  /// Begins a stream of the client.
  mutating func beginStream(credit: UInt8) {
    reset()
    input = .takes
    output = .sends
    dropStaged()
    self.credit = UInt16(credit) &* UInt16(Self.unit)
    granted = UInt16(Sizes.staged)
    if self.credit < Self.leastCredit {
      state = .over
      output = .owesAbort
    }
  }

  /// Frees the stream if both directions have ended.
  mutating func freeIfOver() {
    if input == .ended, output.hasEnded { input = .free }
  }

  /// Ends the direction of the client.
  mutating func endInput() {
    input = .ended
    freeIfOver()
  }

  /// Adds credit. Returns false if the sum is too large.
  mutating func takeCredit(_ units: UInt8) -> Bool {
    if input == .free || output != .sends { return true }
    let (sum, isTooMuch) = credit.addingReportingOverflow(UInt16(units) &* UInt16(Self.unit))
    if isTooMuch { return false }
    credit = sum
    return true
  }

  /// Takes bytes of DATA. There is room for them, because they were granted. After the end of the answer they are dropped.
  mutating func takeData(_ left: UInt8, _ channel: inout Channel) -> Int {
    if output != .sends { dropStaged() }
    if stagedFrom > 0, Int(stagedTo) &+ Int(left) > Sizes.staged {
      for index in stagedFrom..<stagedTo { staged[Int(index &- stagedFrom)] = staged[Int(index)] }
      stagedTo &-= stagedFrom
      stagedFrom = 0
    }
    var bytes = staged.mutableSpan
    let start = Int(stagedTo)
    let count = channel.line.read(into: &bytes, from: start, atMost: min(Sizes.staged &- start, Int(left)))
    if output == .sends { stagedTo &+= UInt16(truncatingIfNeeded: count) }
    granted &-= UInt16(truncatingIfNeeded: count)
    return count
  }

  /// Reads more of the request in a session without streams.
  mutating func stage(_ channel: inout Channel) {
    stagedFrom = 0
    stagedTo = 0
    if channel.isMultiplexed { return }
    var bytes = staged.mutableSpan
    stagedTo = UInt16(truncatingIfNeeded: channel.line.read(into: &bytes, from: 0, atMost: Sizes.staged))
  }

  /// Sends END, ABORT or CREDIT of the stream, if it is owed.
  mutating func sendControl(_ channel: inout Channel) {
    if input == .free || channel.line.room() < 2 { return }
    if output == .owesEnd || output == .owesAbort {
      let isEnd = output == .owesEnd
      output = isEnd ? .sentEnd : .sentAbort
      channel.write((isEnd ? Piece.end : Piece.abort).rawValue << 4 | number, 0, count: 1)
      freeIfOver()
    } else if output == .sends, input == .takes {
      let units = (Sizes.staged &- Int(granted) &- Int(stagedTo &- stagedFrom)) / Self.unit
      guard units > 0, units &* Self.unit &* 2 >= Sizes.staged else { return }
      granted &+= UInt16(truncatingIfNeeded: units &* Self.unit)
      channel.write(Piece.credit.rawValue << 4 | number, UInt8(truncatingIfNeeded: units), count: 2)
    }
  }
}
