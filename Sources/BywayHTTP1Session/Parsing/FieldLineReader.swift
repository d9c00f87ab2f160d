import BywayHTTPWire

/// Reads the field lines of a head or of trailers, up to the empty line (RFC 9112 §5).
struct FieldLineReader: Sendable {
  enum Part: Sendable {
    case request, response, trailers
  }

  private let part: Part
  private let sizeLimit: Int
  private let countLimit: Int
  private(set) var size: Int
  private var count = 0
  /// The fields. They start with the control data of the start line.
  private var fields: FieldSection
  private(set) var facts = MessageFacts()

  /// - Parameter startLineSize: the part of the size that the start line has used.
  init(_ part: Part, sizeLimit: Int, countLimit: Int, startLineSize: Int = 0, fields: FieldSection) {
    self.part = part
    self.sizeLimit = sizeLimit
    self.countLimit = countLimit
    self.fields = fields
    size = startLineSize
  }

  /// Reads lines. Returns whether the empty line has been read.
  mutating func read(from input: inout InputBuffer) throws(HTTP1Failure) -> Bool {
    let (part, sizeLimit, countLimit) = (part, sizeLimit, countLimit)
    return try input.readLines(limit: room, tooLong: Self.tooLarge(part, sizeLimit, countLimit)) {
      line throws(HTTP1Failure) in
      if line.isEmpty { return nil }
      size += line.count + 2
      try readField(line)
      return room
    }
  }

  /// The maximum length of the next line.
  private var room: Int { max(0, sizeLimit - size - 2) }

  /// Returns the section without keeping a reference to it.
  mutating func takeFields() -> FieldSection {
    let taken = fields
    fields = FieldSection(lineCapacity: 0, byteCapacity: 0)
    return taken
  }

  private mutating func readField(_ line: UnsafeRawBufferPointer) throws(HTTP1Failure) {
    guard let colon = line.firstOffset(of: UInt8(ascii: ":"), from: 0), colon > 0 else {
      throw .malformed(Self.fault(of: line))
    }
    let value = FieldGrammar.trim(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
    guard FieldGrammar.isFieldText(value) else {
      throw .malformed("The value of a field contains a control character.")
    }
    count += 1
    let name = UnsafeRawBufferPointer(rebasing: line[..<colon])
    let field = fields.appendClassified(name: name, value: value)
    if field != .other {
      // A name without a colon that is known is a token.
      try sort(field, value)
    } else if !FieldGrammar.isToken(name) {
      throw .malformed(Self.fault(of: line))
    }
    if count + facts.connection.count > countLimit { throw Self.tooLarge(part, sizeLimit, countLimit) }
  }

  /// Records the meaning of a line, and drops the line if it must not be forwarded.
  private mutating func sort(_ field: KnownField, _ value: UnsafeRawBufferPointer) throws(HTTP1Failure) {
    if part == .trailers {
      if field.isBarredFromTrailers { fields.removeLast() }
      return
    }
    switch field {
    case .connection: facts.noteConnection(value)
    case .transferEncoding: facts.noteTransferEncoding(value)
    case .upgrade: facts.noteUpgrade(value)
    case .te: facts.noteTE(value)
    case .keepAlive, .proxyConnection, .trailer, .targetForm: break
    case .upgradeMethod, .upgradeLength, .upgradeStatus: break
    case .contentLength:
      let isFirst = try facts.noteContentLength(value)
      if isFirst, let length = facts.contentLength {
        let isPlain = (value.count == 1 || value[0] != UInt8(ascii: "0")) && !value.contains(UInt8(ascii: ","))
        if isPlain { return }
        // "5, 5" and "05" are forwarded as "5".
        fields.removeLast()
        fields.append(.contentLength, String(length))
        return
      }
    case .host where part == .request:
      try facts.noteHost(value)
      fields.removeLast()
      if !fields.contains(.authority) { fields.append(.authority, value) }
      return
    case .expect:
      facts.noteExpect(value)
      return
    default: return
    }
    fields.removeLast()
  }

  private static func tooLarge(_ part: Part, _ size: Int, _ count: Int) -> HTTP1Failure {
    part == .trailers
      ? .tooLarge("The trailers exceed \(size) bytes or \(count) fields.")
      : .tooLarge("The head of a message exceeds \(size) bytes or \(count) fields.")
  }

  private static func fault(of line: UnsafeRawBufferPointer) -> String {
    let index = line.firstIndex { !FieldGrammar.isTokenByte($0) } ?? line.count
    return switch (index, index < line.count ? line[index] : nil) {
    case (0, 0x20), (0, 0x09): "A field is folded over two lines."
    case (0, UInt8(ascii: ":")): "A field has no name."
    case (_, 0x20), (_, 0x09): "White space follows the name of a field."
    case (_, nil): "A field line has no colon."
    default: "The name of a field contains a character that no name may have."
    }
  }
}

extension KnownField {
  /// Whether the field is forbidden in trailers: those must not frame, route, or change how the content is read (RFC 9110
  /// §6.5.1).
  var isBarredFromTrailers: Bool {
    switch self {
    case .contentLength, .host, .expect, .contentType, .cookie: true
    default: isHopByHop || isPseudo
    }
  }
}
