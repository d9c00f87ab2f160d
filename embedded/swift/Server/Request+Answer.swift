extension Request {
  /// The largest head of an answer in bytes, without the type and fields of the service, and the largest size of those.
  private static var fixedHead: Int { 80 }
  private static var answerFields: Int { 128 }
  /// The room for a head and "100 Continue", with a margin for units.
  private static var headRoom: Int { fixedHead + answerFields + 32 }
  private static var pieceHead: Int { 2 }
  private static var mostPiece: Int { 255 }
  /// The size of a piece of static content.
  private static var contentPiece: Int { (Sizes.payload > 126 ? 254 : 126) - pieceHead }
  /// The most bytes around the content of a chunk, and the most bytes of that content. The last chunk has no content.
  private static var chunkLines: Int { 8 }
  private static var mostChunk: Int { 0xFFF }
  private static var lastChunk: Int { 5 }

  // MARK: - Room

  /// Returns how many bytes can be written at once.
  @inline(never)
  mutating func lineRoom(_ channel: inout Channel) -> Int {
    let room = channel.line.room()
    guard channel.isMultiplexed else { return room }
    guard output == .sends, room >= Self.pieceHead, channel.waits == Channel.noRequest || channel.waits == number else {
      return 0
    }
    return min(min(room &- Self.pieceHead, Int(credit)), Self.mostPiece)
  }

  /// Whether the largest head of an answer can be written. If only the line has no room, the others wait until this request has written.
  @inline(never)
  mutating func isRoomy(_ channel: inout Channel) -> Bool {
    if lineRoom(&channel) >= Self.headRoom { return true }
    if Sizes.streams > 0, channel.waits == Channel.noRequest, output == .sends, Int(credit) >= Self.headRoom {
      channel.waits = number
    }
    return false
  }

  /// Returns how many bytes of the answer's body `send` would take.
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

  /// Starts a piece of the request's stream for the next written bytes. The caller has checked the room.
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
      flags.awaitsRoom = Sizes.streams > 0
      return false
    }
    answer = length != Server.unknownLength ? .known : flags.isHTTP10 ? .untilEnd : .chunked
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

  /// Sends a static body, from its place in memory.
  mutating func sendStatic(_ bytes: UnsafePointer<UInt8>) {
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

  /// Ends an answer of unknown length. Returns false if there is no room for its end yet.
  mutating func end(_ channel: inout Channel) -> Bool {
    if answer == .chunked, !flags.hasNoBody {
      guard lineRoom(&channel) >= Self.lastChunk else { return false }
      beginPiece(Self.lastChunk, &channel)
      channel.write("0\r\n\r\n")
    }
    if answer == .chunked || answer == .untilEnd { answer = .answered }
    return answer == .answered
  }

  /// Sends bytes of a static body.
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
