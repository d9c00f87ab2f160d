extension Request {
  /// The largest head of an answer without the service's type and fields, and those.
  private static var fixedHead: Int { 80 }
  private static var answerFields: Int { 128 }
  /// With "100 Continue" in units.
  private static var headRoom: Int { fixedHead + answerFields + 32 }
  private static var pieceHead: Int { 2 }
  private static var mostPiece: Int { 255 }
  /// The kit's own pieces.
  private static var contentPiece: Int { (Sizes.payload > 126 ? 254 : 126) - pieceHead }
  /// A chunk has this around its bytes at most, and at most so many bytes. The last has no bytes.
  private static var chunkLines: Int { 8 }
  private static var mostChunk: Int { 0xFFF }
  private static var lastChunk: Int { 5 }

  // MARK: - Room

  /// How many bytes can be written at once.
  @inline(never)
  mutating func lineRoom(_ channel: inout Channel) -> Int {
    let room = channel.line.room()
    guard channel.isMultiplexed else { return room }
    guard output == .sends, room >= Self.pieceHead, channel.waits == Channel.nobody || channel.waits == number else {
      return 0
    }
    return min(min(room &- Self.pieceHead, Int(credit)), Self.mostPiece)
  }

  /// Whether the largest head of an answer can be written. If only the line has no room, others wait until this one has written.
  @inline(never)
  mutating func isRoomy(_ channel: inout Channel) -> Bool {
    if lineRoom(&channel) >= Self.headRoom { return true }
    if Sizes.streams > 0, channel.waits == Channel.nobody, output == .sends, Int(credit) >= Self.headRoom {
      channel.waits = number
    }
    return false
  }

  /// How many bytes of the answer's body `send` would take.
  @inline(never)
  mutating func room(_ channel: inout Channel) -> Int {
    let room = lineRoom(&channel)
    switch answer {
    case .known: return Int(min(UInt32(room), contentLeft))
    case .untilEnd: return room
    case .chunked: return room < Self.chunkLines ? 0 : min(room &- Self.chunkLines, Self.mostChunk)
    default: return 0
    }
  }

  /// The next bytes that are written are a piece of the request's stream. The room was checked.
  @inline(never)
  mutating func beginPiece(_ count: Int, _ channel: inout Channel) {
    guard channel.isMultiplexed, count > 0 else { return }
    channel.write(Piece.data.rawValue << 4 | number, UInt8(truncatingIfNeeded: count), count: 2)
    credit &-= UInt16(truncatingIfNeeded: count)
  }

  // MARK: - The head

  /// Begins the answer. Returns false if there is nothing to answer, the texts are too long, or there is no room.
  @inline(never)
  mutating func begin(
    _ status: UInt16, type: Span<UInt8>, length: UInt32, fields: Span<UInt8>, _ channel: inout Channel
  ) -> Bool {
    let own = type.count &+ fields.count
    guard answer == .unanswered, own <= Self.answerFields else { return false }
    guard lineRoom(&channel) >= Self.fixedHead &+ own else {
      flags.wantsRoom = Sizes.streams > 0
      return false
    }
    answer = length != Server.unknownLength ? .known : flags.isOld ? .untilEnd : .chunked
    if answer == .untilEnd { flags.closes = true }
    if channel.isMultiplexed {
      channel.isCounting = true
      channel.counted = 0
      writeHead(status, type: type, length: length, fields: fields, &channel)
      channel.isCounting = false
      beginPiece(Int(channel.counted), &channel)
    }
    writeHead(status, type: type, length: length, fields: fields, &channel)
    contentLeft = length
    if answer == .known, length == 0 || flags.hasNoBody { answer = .answered }
    return true
  }

  @inline(never)
  private mutating func writeHead(
    _ status: UInt16, type: Span<UInt8>, length: UInt32, fields: Span<UInt8>, _ channel: inout Channel
  ) {
    let isBodiless = status == 204 || status == 304
    channel.write("HTTP/1.1 ")
    channel.write(UInt32(status), base: 10)
    channel.write(" \r\n")
    if type.count > 0 {
      channel.write("Content-Type: ")
      channel.write(type)
      channel.write("\r\n")
    }
    if answer == .known, !isBodiless {
      channel.write("Content-Length: ")
      channel.write(length, base: 10)
      channel.write("\r\n")
    }
    if answer == .chunked, !isBodiless { channel.write("Transfer-Encoding: chunked\r\n") }
    if flags.closes { channel.write("Connection: close\r\n") }
    channel.write(fields)
    channel.write("\r\n")
    if isBodiless || method == .head { flags.hasNoBody = true }
  }

  // MARK: - The body

  /// The kit sends the body by itself, from where it is.
  mutating func sendBySelf(_ bytes: UnsafePointer<UInt8>) {
    content = bytes
    if answer == .known { answer = .content }
  }

  mutating func send(_ bytes: Span<UInt8>, _ channel: inout Channel) -> Int {
    let count = min(bytes.count, room(&channel))
    if count == 0 { return 0 }
    if !flags.hasNoBody {
      let isChunk = answer == .chunked
      beginPiece(count &+ (isChunk ? count > 0xF ? 6 : 5 : 0), &channel)
      if isChunk {
        channel.write(UInt32(truncatingIfNeeded: count), base: 16)
        channel.write("\r\n")
      }
      channel.write(bytes.extracting(0..<count))
      if isChunk { channel.write("\r\n") }
    }
    if answer == .known {
      contentLeft &-= UInt32(truncatingIfNeeded: count)
      if contentLeft == 0 { answer = .answered }
    }
    return count
  }

  /// The answer of unknown length is complete. Returns false if there is no room for its end yet.
  mutating func end(_ channel: inout Channel) -> Bool {
    if answer == .chunked, !flags.hasNoBody {
      guard lineRoom(&channel) >= Self.lastChunk else { return false }
      beginPiece(Self.lastChunk, &channel)
      channel.write("0\r\n\r\n")
    }
    if answer == .chunked || answer == .untilEnd { answer = .answered }
    return answer == .answered
  }

  /// Sends bytes of an answer that the kit sends by itself.
  mutating func sendContent(_ channel: inout Channel) {
    guard channel.hasTurn(), let start = content else { return }
    var count = lineRoom(&channel)
    if channel.isMultiplexed { count = min(count, Self.contentPiece) }
    count = Int(min(UInt32(truncatingIfNeeded: count), contentLeft))
    beginPiece(count, &channel)
    channel.write(Span(_unsafeStart: start, count: count))
    content = start + count
    contentLeft &-= UInt32(truncatingIfNeeded: count)
    if contentLeft == 0 { answer = .answered }
  }

  mutating func sendContinue(_ channel: inout Channel) {
    beginPiece(17, &channel)
    channel.write("HTTP/1.1 100 \r\n\r\n")
  }
}
