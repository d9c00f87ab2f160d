import NIOCore

extension InspectedExchange.KeptBody {
  /// The maximum number of pieces whose times are kept.
  private static let arrivalLimit = 1000

  /// Keeps the next piece of a conversation, and drops older messages for it.
  /// - Parameters:
  ///   - limit: the maximum number of bytes to keep.
  ///   - time: the time of arrival, in milliseconds since 1970.
  mutating func keepLatest(_ piece: ByteBufferView, of form: Conversation.Form, limit: Int, at time: Double) {
    var rest = piece
    while !rest.isEmpty, limit > 0 {
      if skipping > 0 {
        let count = min(skipping, rest.count)
        skipping -= count
        dropped += count
        rest = rest.dropFirst(count)
      } else if kept.readableBytes >= limit {
        makeRoom(form, limit)
      } else {
        let count = min(limit - kept.readableBytes, rest.count)
        kept.writeBytes(rest.prefix(count))
        rest = rest.dropFirst(count)
      }
    }
    if arrivals.count >= Self.arrivalLimit { arrivals.removeFirst(arrivals.count / 2) }
    arrivals.append(Arrival(end: count, time: time))
  }

  mutating func clear() {
    dropped += kept.readableBytes
    kept = ByteBuffer()
    arrivals = []
  }

  /// Keeps no more of it, because the beginning of its next message is unknown.
  mutating func stopKeeping() {
    clear()
    skipping = .max
  }

  /// Frees half of the limit, so that not every piece requires a search through all messages.
  private mutating func makeRoom(_ form: Conversation.Form, _ limit: Int) {
    let end = form.endOfMessage(in: kept.readableBytesView, after: limit / 2)
    let gone = min(end, kept.readableBytes)
    skipping = end - gone
    dropped += gone
    kept.moveReaderIndex(forwardBy: gone)
    kept.discardReadBytes()
    let dropped = dropped
    arrivals.removeAll { $0.end <= dropped }
  }
}

extension Conversation.Form {
  /// Returns the end of the first message that ends after a position. It is beyond the end of the bytes if the last message is known to
  /// continue that far.
  fileprivate func endOfMessage(in bytes: ByteBufferView, after place: Int) -> Int {
    switch self {
    case .events: Self.endOfEvent(bytes, after: place)
    case .frames: Self.hop(bytes, after: place, Self.frameLength)
    case .calls: Self.hop(bytes, after: place, Self.callLength)
    }
  }

  /// Returns the position after an empty line; the end of the bytes if there is none.
  private static func endOfEvent(_ bytes: ByteBufferView, after place: Int) -> Int {
    var isLineEmpty = false
    for (offset, byte) in bytes.dropFirst(place).enumerated() {
      if byte == 0x0A, isLineEmpty { return place + offset + 1 }
      if byte != 0x0D { isLineEmpty = byte == 0x0A }
    }
    return bytes.count
  }

  private static func hop(_ bytes: ByteBufferView, after place: Int, _ length: (ByteBufferView) -> Int?) -> Int {
    var end = 0
    while end <= place {
      guard let next = length(bytes.dropFirst(end)) else { return end > 0 ? end : .max }
      end = end.addingReportingOverflow(next).overflow ? .max : end + next
    }
    return end
  }

  /// Returns the length of a frame (RFC 6455 §5.2).
  private static func frameLength(_ bytes: ByteBufferView) -> Int? {
    guard let second = bytes.dropFirst().first else { return nil }
    let extended = second & 0x7F == 126 ? 2 : second & 0x7F == 127 ? 8 : 0
    guard bytes.count >= 2 + extended else { return nil }
    let length =
      extended == 0
      ? UInt64(second & 0x7F) : bytes.dropFirst(2).prefix(extended).reduce(0) { $0 << 8 | UInt64($1) }
    guard let content = Int(exactly: length), content < .max - 14 else { return nil }
    return 2 + extended + (second & 0x80 == 0 ? 0 : 4) + content
  }

  private static func callLength(_ bytes: ByteBufferView) -> Int? {
    guard bytes.count >= 5 else { return nil }
    return 5 + Int(bytes.dropFirst().prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
  }
}
