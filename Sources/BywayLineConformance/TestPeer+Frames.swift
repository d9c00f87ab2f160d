import BywayLineLayer
import BywayPrimitives

/// Conversion of frames from and to scripts. No other file knows the fields of frames.
extension TestPeer {
  // MARK: To the end under test

  /// Encodes a transmission of a script, and updates the state of the tester.
  mutating func bytes(of transmission: Transmission) -> [UInt8] {
    switch transmission {
    case .bytes(let bytes): return bytes
    case .junk(let count):
      let longest = 5 + Int(largestPayload) + 4
      return [UInt8](repeating: 0x55, count: longest + longest / 254 + 1 + count) + [0]
    case .stretch(let units):
      let most = max(Int(largestPayload) / Unit.size, 1)
      let units = min(units, room)
      return stride(from: 0, to: units, by: most).flatMap { start in
        let payload = min(most, units - start) * Unit.size
        return bytes(of: .frame(FramePattern(kind: .data, fields: [.payload: .number(payload)]), isDamaged: false))
      }
    case .body(let body): return Self.wire(of: body, seal: id)
    // DATA without the number of a piece fills the window, and is left out if the window is full.
    case .frame(let pattern, _) where pattern.kind == .data && pattern[.piece] == nil && room < length(of: pattern):
      return []
    case .frame(let pattern, let isDamaged):
      let frame = frame(for: pattern)
      let isForeign = word(pattern[.seal]) == "other"
      if !isForeign, !isDamaged { noteSaid(frame) }
      if let strength = number(pattern[.strength]) {
        return correctable(frame, strength, pattern, seal: isForeign ? otherID : id)
      }
      var wire = encode(frame, seal: isForeign ? otherID : id)
      if case .word(let more) = pattern[.more], let bytes = try? StepReader.bytes(more) {
        wire = Self.growing(wire, bytes)
      }
      // This changes a bit of the check, whose last byte is before the zero.
      if isDamaged { wire[wire.count - 2] ^= wire[wire.count - 2] == 0x10 ? 0x20 : 0x10 }
      return wire
    }
  }

  mutating func frame(for pattern: FramePattern) -> Frame {
    switch pattern.kind {
    case .hello, .any:
      return .hello(
        version: UInt8(truncatingIfNeeded: number(pattern[.version]) ?? 1),
        incarnation: incarnation(pattern[.incarnation]),
        largestPayload: UInt16(truncatingIfNeeded: number(pattern[.largest]) ?? 2048), correction: correction(pattern))
    case .open:
      if word(pattern[.session]) == "new" { beginSession(random()) }
      let session = SessionID(session: session(pattern[.session]), incarnation: incarnation(pattern[.incarnation]))
      if let units = number(pattern[.window]) { window = UInt16(truncatingIfNeeded: units) }
      return .open(
        version: UInt8(truncatingIfNeeded: number(pattern[.version]) ?? 1), session: session,
        largestPayload: UInt16(truncatingIfNeeded: number(pattern[.largest]) ?? 2048), window: window,
        correction: correction(pattern))
    case .reset:
      return .reset(session: session(pattern[.session]), reason: Self.reason(pattern[.reason]) ?? .aborted)
    case .poll:
      asked = number(pattern[.token]).map { UInt8(truncatingIfNeeded: $0) } ?? asked &+ 1
      return .poll(session: session(pattern[.session]), token: asked)
    case .ack: return .acknowledgement(report(pattern, answer: nil))
    case .answer:
      let token = number(pattern[.token]).map { UInt8(truncatingIfNeeded: $0) } ?? receivedToken
      return .acknowledgement(
        report(pattern, answer: .init(token: token, delay: UInt8(truncatingIfNeeded: number(pattern[.delay]) ?? 0))))
    case .noise: return .noise(Noise(code: UInt8(truncatingIfNeeded: number(pattern[.level]) ?? 0)))
    case .data:
      let piece = number(pattern[.piece]) ?? sentPieces
      let count = number(pattern[.payload])
      let payload = count.map { [UInt8](repeating: 0x2A, count: $0) } ?? stimulus.piece(piece)
      let header = DataHeader(number: number(ofPiece: piece), next: nil, isLast: pattern[.last] != nil)
      note(piece: piece, length: payload.count)
      return .data(header, payload: payload[...])
    }
  }

  /// Returns an acknowledgement of everything that has arrived.
  func report(answer: Acknowledgement.Answer?) -> Frame {
    .acknowledgement(Acknowledgement(answer: answer, arrivals: Arrivals(next: receivedNumber), window: window))
  }

  private mutating func report(_ pattern: FramePattern, answer: Acknowledgement.Answer?) -> Acknowledgement {
    if let units = number(pattern[.window]) { window = UInt16(truncatingIfNeeded: units) }
    var report = Acknowledgement(answer: answer, arrivals: Arrivals(next: receivedNumber), window: window)
    if word(pattern[.next]) == "heard" { report.arrivals.next = receivedEnd }
    if case .offset(let offset) = pattern[.next] {
      report.arrivals.next = UInt16(truncatingIfNeeded: Int(receivedNumber) + offset)
    }
    if case .offset(let unit) = pattern[.arrived], unit > 0 {
      report.arrivals.runs = [UInt16(truncatingIfNeeded: unit), 1]
    }
    if let runs = word(pattern[.runs]) { report.arrivals.runs = runs.split(separator: "+").compactMap { UInt16($0) } }
    return report
  }

  private func correction(_ pattern: FramePattern) -> UInt8 {
    number(pattern[.correction]).map { UInt8(truncatingIfNeeded: $0) } ?? Self.usualCorrection
  }

  // MARK: Numbers of DATA

  /// The number of units of DATA that the tester has sent.
  var sentUnits: Int { starts[starts.count - 1] }

  /// The number of units that the end accepts now.
  private var room: Int { max(Unit.distance(from: number(ofPiece: sentPieces), to: limit), 0) }

  /// Returns the length of the next piece in units.
  private func length(of pattern: FramePattern) -> Int {
    Self.numbers(of: number(pattern[.payload]) ?? stimulus.piece(sentPieces).count)
  }

  /// Returns the number of units of a payload.
  static func numbers(of payload: Int) -> Int { Unit.count(payload) }

  /// Returns the number of the first unit of a piece.
  func number(ofPiece piece: Int) -> UInt16 {
    // A script may have thousands of pieces.
    let known = min(piece, starts.count - 1)
    let before = (known..<piece).reduce(starts[known]) {
      $0 + Self.numbers(of: lengths[$1] ?? stimulus.piece($1).count)
    }
    return UInt16(truncatingIfNeeded: before)
  }

  /// Notes that a piece with this length was sent.
  mutating func note(piece: Int, length: Int) {
    sentPieces = max(sentPieces, piece + 1)
    lengths[piece] = length
    guard piece < starts.count else { return }
    starts.removeSubrange((piece + 1)...)
    starts.append(starts[piece] + Self.numbers(of: length))
  }

  /// Returns the units that an acknowledgement says have arrived, counted from *next*.
  private static func arrivals(_ report: Acknowledgement) -> Set<Int> {
    var arrivals: Set<Int> = []
    var start = 0
    for (index, run) in report.arrivals.runs.enumerated() {
      if index % 2 == 1 { arrivals.formUnion(start..<start + Int(run)) }
      start += Int(run)
    }
    return arrivals
  }

  func encode(_ frame: Frame, seal: SessionID) -> [UInt8] {
    var scratch: [UInt8] = []
    var output: [UInt8] = []
    FrameCodec.encode(frame, seal: seal, scratch: &scratch, into: &output)
    return output
  }

  private static func wire(of body: [UInt8], seal: SessionID) -> [UInt8] {
    var check = CRC32C()
    if let kind = body.first, kind >= 0x40 { check.update(bigEndian(seal.session) + bigEndian(seal.incarnation)) }
    check.update(body)
    var output: [UInt8] = []
    COBS.encode(body + bigEndian(check.value), into: &output)
    return output
  }

  /// Appends bytes to the fields of a frame. Only a frame without a seal may have more bytes.
  private static func growing(_ wire: [UInt8], _ more: [UInt8]) -> [UInt8] {
    var body = Array(wire.dropLast())
    guard COBS.decode(&body), body.count > 4 else { return wire }
    return Self.wire(of: body.dropLast(4) + more, seal: SessionID(session: 0, incarnation: 0))
  }

  private static func bigEndian(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }

  // MARK: From the end under test

  func matches(_ received: ReceivedFrame, _ pattern: FramePattern) -> Bool {
    if let zeros = number(pattern[.zeros]), received.zeros < zeros { return false }
    guard agrees(strength: pattern[.strength], received.strength) else { return false }
    switch (pattern.kind, received.frame) {
    case (.any, _): return true
    case (.hello, .hello(let version, let incarnation, let largest, _, _)):
      return agrees(pattern[.version], version) && agrees(pattern[.incarnation], incarnation)
        && agrees(pattern[.largest], largest)
    case (.open, .open(let version, let id, let largest, let window, _, _)):
      // A dialer may have begun another session.
      let isOwn = pattern[.session] == nil || id.session == session(pattern[.session])
      return isOwn && agrees(pattern[.version], version)
        && agrees(pattern[.incarnation], id.incarnation) && agrees(pattern[.largest], largest)
        && agrees(pattern[.window], window)
    case (.reset, .reset(let id, let reason)):
      return id == session(pattern[.session])
        && Self.reason(pattern[.reason]).map { $0 == reason } ?? true
    case (.poll, .poll(let id, let token)):
      return id == session(pattern[.session]) && agrees(pattern[.token], token)
    case (.ack, .data(let header, _)):
      // An acknowledgement in DATA has only *next*.
      return header.next.map { agrees(next: pattern[.next], $0) } ?? false && pattern[.window] == nil
        && pattern[.arrived] == nil
    case (.ack, .acknowledgement(let report)):
      return agrees(next: pattern[.next], report.arrivals.next) && agrees(pattern[.window], report.window)
        && agrees(arrived: pattern[.arrived], report)
    case (.answer, .acknowledgement(let report)):
      guard let answer = report.answer, Int(answer.token) == number(pattern[.token]) ?? Int(asked) else { return false }
      return agrees(pattern[.delay], answer.delay) && agrees(next: pattern[.next], report.arrivals.next)
        && agrees(pattern[.window], report.window) && agrees(arrived: pattern[.arrived], report)
    case (.noise, .noise(let noise)): return agrees(level: pattern[.level], noise)
    case (.data, .data(let header, let payload)):
      return agrees(pattern[.number], header.number) && agrees(pattern[.payload], payload.count)
        && (pattern[.last] == nil || header.isLast)
        && isBeyond(pattern[.beyond], header.number, payload.count)
    default: return false
    }
  }

  /// Whether an end sends this frame only in reaction to another.
  func isReaction(_ frame: Frame) -> Bool {
    switch frame {
    case .hello, .reset: true
    case .acknowledgement(let report): report.answer != nil
    case .open: role == .listen
    case .poll, .noise, .data: false
    }
  }

  private func agrees(_ value: FramePattern.Value?, _ actual: some BinaryInteger) -> Bool {
    switch value {
    case nil: true
    case .number(let number): Int(actual) == number
    case .offset(let offset): Int(actual) == Int(receivedNumber) + offset
    case .word: Int(actual) == Int(incarnation(value))
    }
  }

  private func isBeyond(_ value: FramePattern.Value?, _ first: UInt16, _ payload: Int) -> Bool {
    guard let limit = number(value) else { return true }
    let end = Int(first) + Self.numbers(of: payload)
    return end > limit
  }

  /// Compares a number of a piece: the first missing one, or `all` if none is missing.
  private func agrees(next value: FramePattern.Value?, _ actual: UInt16) -> Bool {
    if word(value) == "all" { return actual == number(ofPiece: sentPieces) }
    guard case .number(let piece) = value else { return true }
    return actual == number(ofPiece: piece)
  }

  /// Compares a list of pieces such as `2+3`. No other piece may have arrived.
  private func agrees(arrived value: FramePattern.Value?, _ report: Acknowledgement) -> Bool {
    let pieces: [Int]
    switch value {
    case .number(let piece): pieces = [piece]
    case .word(let text): pieces = text.split(separator: "+").compactMap { Int($0) }
    case .offset, nil: return true
    }
    let wanted = pieces.flatMap { piece in
      let start = Int(number(ofPiece: piece) &- report.arrivals.next)
      return start..<start + Self.numbers(of: lengths[piece] ?? 0)
    }
    return Self.arrivals(report) == Set(wanted)
  }

  // MARK: Notation

  private func session(_ value: FramePattern.Value?) -> UInt32 {
    switch word(value) {
    case "other": id.session ^ 0x5555_5555
    case "past": past
    default: id.session
    }
  }

  private func incarnation(_ value: FramePattern.Value?) -> UInt32 {
    switch value {
    case .number(let number): UInt32(truncatingIfNeeded: number)
    case .word("other"): otherID.incarnation
    case .word("none"): 0
    default: id.incarnation
    }
  }

  func number(_ value: FramePattern.Value?) -> Int? {
    if case .number(let number) = value { number } else { nil }
  }

  private func word(_ value: FramePattern.Value?) -> String? {
    if case .word(let word) = value { word } else { nil }
  }

  static let reasons = ["finished", "unknown", "aborted", "silence", "version", "both-dial"]

  private static func reason(_ value: FramePattern.Value?) -> ResetReason? {
    guard case .word(let word) = value, let code = reasons.firstIndex(of: word) else { return nil }
    return ResetReason(rawValue: UInt8(code))
  }
}

extension Frame {
  /// The frame in the notation of scripts.
  var summary: String {
    switch self {
    case .hello(let version, let incarnation, let largest, let correction, _):
      return
        "hello version=\(version) incarnation=\(Hex.text(incarnation)) largest=\(largest)\(correction > 0 ? " correction=\(correction)" : "")"
    case .open(let version, let id, let largest, let window, let correction, _):
      return "open version=\(version) session=\(Hex.text(id.session)) "
        + "incarnation=\(Hex.text(id.incarnation)) largest=\(largest) window=\(window)\(correction > 0 ? " correction=\(correction)" : "")"
    case .reset(let session, let reason):
      return "reset session=\(Hex.text(session)) reason=\(TestPeer.reasons[Int(reason.rawValue)])"
    case .poll(let session, let token): return "poll session=\(Hex.text(session)) token=\(token)"
    case .acknowledgement(let report):
      let start = report.answer.map { "answer token=\($0.token) delay=\($0.delay)" } ?? "ack"
      return "\(start) next=\(report.arrivals.next) window=\(report.window)"
        + (report.arrivals.runs.isEmpty ? "" : " runs=\(report.arrivals.runs)")
    case .noise(let noise): return "noise level=\(noise.code)"
    case .data(let header, let payload):
      return "data number=\(header.number) payload=\(payload.count)" + (header.next.map { " next=\($0)" } ?? "")
        + (header.isLast ? " last" : "")
    }
  }
}
