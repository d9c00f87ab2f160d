extension Request {
  /// The room in the head for the names and values of the fields that the server itself needs.
  private static var fieldRoom: Int { 48 }
  /// The largest size of a head, or of a line around chunks, including dropped bytes.
  static var mostHead: UInt16 { 8192 }

  /// Takes a byte of the head.
  mutating func takeHeadByte<S: Service & ~Copyable>(_ byte: UInt8, _ type: S.Type) {
    headSize &+= 1
    if headSize > Self.mostHead { return refuse(431) }
    if byte == UInt8(ascii: "\n") { return takeLine(type) }
    let isControl = byte < 0x20 && byte != UInt8(ascii: "\t") && byte != UInt8(ascii: "\r")
    if isControl || byte == 0x7F { return refuse(400) }
    if Int(headCount) &+ 1 < Sizes.head {
      head[Int(headCount)] = byte
      headCount &+= 1
    } else {
      flags.isTooLong = true
    }
  }

  /// Processes a complete line of the head, from `lineStart` to `headCount`.
  @inline(never)
  private mutating func takeLine<S: Service & ~Copyable>(_ type: S.Type) {
    let start = Int(lineStart)
    var end = Int(headCount)
    if end > start, head[end &- 1] == UInt8(ascii: "\r") { end &-= 1 }
    if find(UInt8(ascii: "\r"), start, end) != nil { return refuse(400) }
    if state == .startLine {
      if flags.isTooLong {
        refuse(414)
      } else if end == start {
        headCount = 0  // RFC 9112, section 2.2
      } else {
        takeStartLine(end)
      }
    } else if end == start, !flags.isTooLong {
      headCount = lineStart
      endHead()
    } else {
      takeField(start, end, type)
    }
    lineStart = headCount
    flags.isTooLong = false
    if state == .fields, Int(headCount) &+ Self.fieldRoom > Sizes.head { refuse(431) }
  }

  // MARK: - The first line

  /// Parses "GET /path HTTP/1.1", and keeps the target at the beginning of the head.
  private mutating func takeStartLine(_ end: Int) {
    guard let space = find(UInt8(ascii: " "), 0, end), end >= 9 else { return refuse(400) }
    let version = end &- 9
    guard version > space, holds(" HTTP/", version, version &+ 6) else { return refuse(400) }
    guard holds("1.", version &+ 6, version &+ 8) else { return refuse(505) }
    let minor = head[end &- 1]
    guard minor >= UInt8(ascii: "0"), minor <= UInt8(ascii: "9") else { return refuse(400) }
    var target = space &+ 1
    guard version > target else { return refuse(400) }
    if minor == UInt8(ascii: "0") {
      flags.isHTTP10 = true
      flags.closes = true
    }
    takeMethod(space)
    // A client that takes the server for a proxy sends the absolute form.
    if holdsPrefix("http://", target, version) {
      target &+= 7
      while target < version, head[target] != UInt8(ascii: "/"), head[target] != UInt8(ascii: "?") { target &+= 1 }
    }
    let first = target < version ? head[target] : 0
    guard first == UInt8(ascii: "/") || first == UInt8(ascii: "*") else { return refuse(400) }
    guard find(UInt8(ascii: " "), target, version) == nil, find(UInt8(ascii: "\t"), target, version) == nil else {
      return refuse(400)
    }
    head[version] = 0
    headCount = 0
    keep(target, version &+ 1)
    state = .fields
  }

  private mutating func takeMethod(_ end: Int) {
    if holds("GET", 0, end) {
      method = .get
    } else if holds("HEAD", 0, end) {
      method = .head
    } else if holds("PUT", 0, end) {
      method = .put
    } else if holds("POST", 0, end) {
      method = .post
    } else {
      method = holds("DELETE", 0, end) ? .delete : .other
    }
  }

  // MARK: - Fields

  /// Parses "Name: value", and keeps both if the service wants the field.
  private mutating func takeField<S: Service & ~Copyable>(_ start: Int, _ end: Int, _ type: S.Type) {
    headCount = lineStart
    guard let colon = find(UInt8(ascii: ":"), start, end) else {
      // No field that the server needs has such a long name.
      if !flags.isTooLong { refuse(400) }
      return
    }
    for index in start..<colon {
      if isBlank(head[index]) { return refuse(400) }
      head[index] = lower(head[index])
    }
    if colon == start { return refuse(400) }
    let isWanted = S.wants(head.span.extracting(start..<colon))
    if flags.isTooLong {
      if isWanted || isNeeded(start, colon) { return refuse(431) }
      if holds("host", start, colon) { flags.hasHost = true }
      return
    }
    var from = colon &+ 1
    var to = end
    while from < to, isBlank(head[from]) { from &+= 1 }
    while from < to, isBlank(head[to &- 1]) { to &-= 1 }
    let status = takeOwnField(start, colon, from, to)
    if status != 0 { return refuse(status) }
    guard isWanted else { return }
    // These two positions held a colon, a carriage return, or a line feed that was not kept.
    head[colon] = 0
    headCount = UInt16(truncatingIfNeeded: colon &+ 1)
    keep(from, to)
    head[Int(headCount)] = 0
    headCount &+= 1
  }

  /// Processes a field that the server itself needs. Returns the status of a refusal, or 0.
  private mutating func takeOwnField(_ start: Int, _ colon: Int, _ from: Int, _ to: Int) -> UInt16 {
    if holds("content-length", start, colon) {
      guard let length = number(from, to), !flags.hasLength || length == bodyLeft else { return 400 }
      bodyLeft = length
      flags.hasLength = true
    } else if holds("transfer-encoding", start, colon) {
      if flags.hasChunks { return 400 }
      guard holdsWord("chunked", from, to) else { return 501 }
      flags.hasChunks = true
    } else if holds("host", start, colon) {
      if flags.hasHost { return 400 }
      flags.hasHost = true
    } else if holds("expect", start, colon) {
      guard holdsWord("100-continue", from, to) else { return 417 }
      flags.expectsContinue = true
    } else if holds("connection", start, colon), holdsWord("close", from, to) {
      flags.closes = true
    }
    return 0
  }

  /// Whether the server needs the field, so that it must not be dropped.
  private mutating func isNeeded(_ start: Int, _ colon: Int) -> Bool {
    holds("content-length", start, colon) || holds("transfer-encoding", start, colon) || holds("expect", start, colon)
  }

  /// Processes the empty line after the fields.
  private mutating func endHead() {
    let isAmbiguous = flags.hasChunks && (flags.hasLength || flags.isHTTP10)
    if isAmbiguous || !(flags.hasHost || flags.isHTTP10) { return refuse(400) }
    state = .headDone
  }

  // MARK: - Text

  /// Moves bytes of the head to `headCount`, which is before them.
  private mutating func keep(_ from: Int, _ to: Int) {
    for index in from..<to {
      head[Int(headCount)] = head[index]
      headCount &+= 1
    }
  }

  @inline(never)
  private mutating func find(_ byte: UInt8, _ from: Int, _ to: Int) -> Int? {
    for index in from..<to where head[index] == byte { return index }
    return nil
  }

  /// Whether bytes of the head are equal to a text.
  @inline(never)
  mutating func holds(_ text: StaticString, _ from: Int, _ to: Int) -> Bool {
    head.span.extracting(from..<to).equals(text)
  }

  private mutating func holdsPrefix(_ text: StaticString, _ from: Int, _ to: Int) -> Bool {
    to &- from >= text.utf8CodeUnitCount && holds(text, from, from &+ text.utf8CodeUnitCount)
  }

  /// Whether bytes of the head are equal to a word, ignoring case. The word is in lower case.
  @inline(never)
  private mutating func holdsWord(_ word: StaticString, _ from: Int, _ to: Int) -> Bool {
    guard to &- from == word.utf8CodeUnitCount else { return false }
    for index in from..<to where lower(head[index]) != word.utf8Start[index &- from] { return false }
    return true
  }

  /// Returns the number that the bytes represent; `nil` if they are not a number, or it is too large.
  private mutating func number(_ from: Int, _ to: Int) -> UInt32? {
    guard from < to else { return nil }
    var value: UInt32 = 0
    for index in from..<to {
      let digit = UInt32(head[index] &- UInt8(ascii: "0"))
      guard digit <= 9, value <= (Server.unknownLength &- 1 &- digit) / 10 else { return nil }
      value = value &* 10 &+ digit
    }
    return value
  }

  private func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

  private func lower(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
  }
}
