extension Request {
  /// Takes a byte of a chunk's size or trailer (RFC 9112, section 7.1).
  mutating func takeChunkByte(_ byte: UInt8) {
    headSize &+= 1
    if headSize > Self.mostHead { return refuse(400) }
    switch state {
    case .chunkSize: takeChunkSize(byte)
    case .chunkExtension: endChunkLine(byte)
    case .chunkEnd: takeChunkEnd(byte)
    default: takeTrailer(byte)
    }
  }

  private mutating func takeChunkSize(_ byte: UInt8) {
    guard let digit = Self.hexadecimal(byte) else { return endChunkLine(byte) }
    digits &+= 1
    if digits > 7 { return refuse(413) }
    bodyLeft = bodyLeft << 4 | digit
  }

  /// Takes the bytes after the size: an extension, which is dropped, or the line end.
  private mutating func endChunkLine(_ byte: UInt8) {
    if digits == 0 || byte == 0 { return refuse(400) }
    let isLineFeed = byte == UInt8(ascii: "\n")
    if state == .chunkSize, !isLineFeed, !Self.endsChunkSize(byte) { return refuse(400) }
    state = !isLineFeed ? .chunkExtension : bodyLeft > 0 ? .chunk : .trailers
    digits = isLineFeed ? 0 : 1
  }

  private static func endsChunkSize(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\r") || byte == UInt8(ascii: ";") || byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }

  private mutating func takeChunkEnd(_ byte: UInt8) {
    if byte == UInt8(ascii: "\r"), digits == 0 {
      digits = 1
    } else if byte == UInt8(ascii: "\n") {
      state = .chunkSize
      digits = 0
      headSize = 0
    } else {
      refuse(400)
    }
  }

  /// Takes a byte of a trailer, which is dropped. An empty line ends the trailers.
  private mutating func takeTrailer(_ byte: UInt8) {
    if byte == UInt8(ascii: "\n") {
      if digits == 0 { state = .bodyDone }
      digits = 0
    } else if byte != UInt8(ascii: "\r") {
      digits = 1
    }
  }

  static func hexadecimal(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte &- UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte &- UInt8(ascii: "a") &+ 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte &- UInt8(ascii: "A") &+ 10)
    default: nil
    }
  }

  /// Returns how many of the received bytes belong to the body.
  mutating func offer() -> Int {
    offered = UInt16(truncatingIfNeeded: min(UInt32(stagedTo &- stagedFrom), bodyLeft))
    return Int(offered)
  }

  /// Removes bytes of the body that the service has taken.
  mutating func use(_ count: Int) {
    offered = 0
    stagedFrom &+= UInt16(truncatingIfNeeded: count)
    bodyLeft &-= UInt32(truncatingIfNeeded: count)
    if bodyLeft == 0 {
      state = state == .body ? .bodyDone : .chunkEnd
      digits = 0
    }
  }
}

extension Request {
  /// Calls a function with the bytes of the body for the service.
  mutating func withBody<Result>(_ use: (Span<UInt8>) -> Result) -> Result {
    use(staged.span.extracting(Int(stagedFrom)..<Int(stagedFrom &+ offered)))
  }
}
