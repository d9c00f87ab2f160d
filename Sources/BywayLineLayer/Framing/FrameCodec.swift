/// The encoder and decoder of frames: a kind, fields in network byte order, and a CRC-32C, stuffed with COBS.
///
/// Frames with a kind below 0x40 name their session. The others are sealed: the check also covers the eight bytes of the session's name,
/// which are not sent. So the check of a frame of another session fails.
package enum FrameCodec {
  package static let version: UInt8 = 1
  /// The bytes of DATA besides its payload, if nothing needs stuffing: kind, number, check, one code of COBS, delimiter.
  static let dataOverhead = 3 + 4 + 2
  /// The bytes on the wire of POLL, and of an ANSWER without gaps.
  static let pollLength = 6 + 4 + 2
  static let answerLength = 7 + 4 + 2

  /// The bytes on the wire of OPEN and of HELLO, each with its copy.
  static let openLength = 15 + 4 + 2 + CorrectableFrame.length(of: 15 + 4, .ofOpenings)
  static let helloLength = 9 + 4 + 2 + CorrectableFrame.length(of: 9 + 4, .ofOpenings)
  /// The bytes on the wire of NOISE.
  static let noiseLength = 2 + 4 + 2

  /// Returns the length before stuffing of the largest frame, which is always DATA.
  static func largestBody(payload: Int) -> Int { 5 + payload + 4 }

  private enum Kind {
    static let hello: UInt8 = 0x01
    static let open: UInt8 = 0x02
    static let reset: UInt8 = 0x03
    static let poll: UInt8 = 0x04
    static let acknowledgement: UInt8 = 0x40
    static let answer: UInt8 = 0x41
    static let noise: UInt8 = 0x42
    static let data: UInt8 = 0x80
    static let sealed: UInt8 = 0xC0
  }

  private enum DataFlag {
    static let acknowledges: UInt8 = 0x01
    static let last: UInt8 = 0x02
    static let all: UInt8 = 0x03
  }

  // MARK: Encoding

  /// Appends the frame as it is on the wire. `scratch` is working memory that is reused.
  package static func encode(_ frame: Frame, seal: SessionID?, scratch: inout [UInt8], into output: inout [UInt8]) {
    write(frame, seal: seal, into: &scratch)
    COBS.encode(scratch, into: &output)
  }

  /// Replaces the content of `scratch` by the body and its check.
  package static func write(_ frame: Frame, seal: SessionID?, into scratch: inout [UInt8]) {
    scratch.removeAll(keepingCapacity: true)
    switch frame {
    case .hello(let version, let incarnation, let largestPayload, let correction, let streams):
      scratch.append(Kind.hello)
      scratch.append(version)
      append(incarnation, to: &scratch)
      append(largestPayload, to: &scratch)
      append(correction, streams, to: &scratch)
    case .open(let version, let id, let largestPayload, let window, let correction, let streams):
      scratch.append(Kind.open)
      scratch.append(version)
      append(id.session, to: &scratch)
      append(id.incarnation, to: &scratch)
      append(largestPayload, to: &scratch)
      append(window, to: &scratch)
      append(correction, streams, to: &scratch)
    case .reset(let session, let reason):
      scratch.append(Kind.reset)
      append(session, to: &scratch)
      scratch.append(reason.rawValue)
    case .poll(let session, let token):
      scratch.append(Kind.poll)
      append(session, to: &scratch)
      scratch.append(token)
    case .acknowledgement(let report):
      scratch.append(report.answer == nil ? Kind.acknowledgement : Kind.answer)
      if let answer = report.answer {
        scratch.append(answer.token)
        scratch.append(answer.delay)
      }
      append(report.arrivals.next, to: &scratch)
      append(report.window, to: &scratch)
      for run in report.arrivals.runs { append(run: run, to: &scratch) }
    case .noise(let noise):
      scratch.append(Kind.noise)
      scratch.append(noise.code)
    case .data(let header, let payload):
      let flags = (header.next == nil ? 0 : DataFlag.acknowledges) | (header.isLast ? DataFlag.last : 0)
      scratch.append(Kind.data | flags)
      append(header.number, to: &scratch)
      if let next = header.next { append(next, to: &scratch) }
      scratch.append(contentsOf: payload)
    }
    let isSealed = scratch[0] & Kind.sealed != 0
    append(checksum(of: scratch[...], seal: isSealed ? seal : nil), to: &scratch)
  }

  /// Appends optional fields; default values at the end are left out.
  private static func append(_ correction: UInt8, _ streams: StreamOffer, to scratch: inout [UInt8]) {
    if correction > 0 || streams != .none { scratch.append(correction) }
    if streams != .none { scratch += [streams.count, streams.credit] }
  }

  private static func streams(_ reader: inout FieldReader) -> StreamOffer {
    StreamOffer(count: reader.byte() ?? 0, credit: reader.byte() ?? 0)
  }

  // MARK: Decoding

  /// Decodes the bytes between two zeros. `nil` if they are not an intact frame of a known kind, or belong to another session.
  package static func decode(_ bytes: inout [UInt8], seal: SessionID?) -> Frame? {
    COBS.decode(&bytes) ? read(bytes, seal: seal) : nil
  }

  /// Decodes a body with its check.
  package static func read(_ bytes: [UInt8], seal: SessionID?) -> Frame? {
    guard bytes.count >= 5 else { return nil }
    let body = bytes[..<(bytes.count - 4)]
    let isSealed = body[0] & Kind.sealed != 0
    if isSealed, seal == nil { return nil }
    var reader = FieldReader(bytes[(bytes.count - 4)...])
    guard reader.integer() == checksum(of: body, seal: isSealed ? seal : nil) else { return nil }
    return fields(of: body)
  }

  private static func fields(of body: ArraySlice<UInt8>) -> Frame? {
    var reader = FieldReader(body.dropFirst())
    switch body[0] {
    case Kind.hello:
      guard let version = reader.byte(), let incarnation: UInt32 = reader.integer(),
        let largestPayload: UInt16 = reader.integer()
      else { return nil }
      return .hello(
        version: version, incarnation: incarnation, largestPayload: largestPayload, correction: reader.byte() ?? 0,
        streams: streams(&reader))
    case Kind.open:
      guard let version = reader.byte(), let session: UInt32 = reader.integer(),
        let incarnation: UInt32 = reader.integer(), let largestPayload: UInt16 = reader.integer(),
        let window: UInt16 = reader.integer()
      else { return nil }
      let id = SessionID(session: session, incarnation: incarnation)
      return .open(
        version: version, session: id, largestPayload: largestPayload, window: window, correction: reader.byte() ?? 0,
        streams: streams(&reader))
    case Kind.reset:
      guard let session: UInt32 = reader.integer(), let code = reader.byte() else { return nil }
      return .reset(session: session, reason: ResetReason(rawValue: code) ?? .aborted)
    case Kind.poll:
      guard let session: UInt32 = reader.integer(), let token = reader.byte() else { return nil }
      return .poll(session: session, token: token)
    case Kind.acknowledgement, Kind.answer:
      var answer: Acknowledgement.Answer?
      if body[0] == Kind.answer {
        guard let token = reader.byte(), let delay = reader.byte() else { return nil }
        answer = Acknowledgement.Answer(token: token, delay: delay)
      }
      guard let next: UInt16 = reader.integer(), let window: UInt16 = reader.integer() else { return nil }
      guard let runs = reader.runs() else { return nil }
      let arrivals = Arrivals(next: next, runs: runs)
      return .acknowledgement(Acknowledgement(answer: answer, arrivals: arrivals, window: window))
    case Kind.noise:
      guard let code = reader.byte() else { return nil }
      return .noise(Noise(code: code))
    case Kind.data...(Kind.data | DataFlag.all):
      guard let number: UInt16 = reader.integer() else { return nil }
      var header = DataHeader(number: number, next: nil, isLast: body[0] & DataFlag.last != 0)
      if body[0] & DataFlag.acknowledges != 0 {
        guard let next: UInt16 = reader.integer() else { return nil }
        header.next = next
      }
      return .data(header, payload: reader.rest)
    default:
      return nil
    }
  }

  static func checksum(of body: ArraySlice<UInt8>, seal: SessionID?) -> UInt32 {
    var checksum = CRC32C()
    if let seal { checksum.update(bigEndian: UInt64(seal.session) << 32 | UInt64(seal.incarnation)) }
    body.withUnsafeBytes { checksum.update($0) }
    return checksum.value
  }

  /// Appends a run: one byte below 128; otherwise two, with the highest bit of the first set.
  private static func append(run: UInt16, to bytes: inout [UInt8]) {
    if Arrivals.length(of: run) == 1 {
      bytes.append(UInt8(truncatingIfNeeded: run))
    } else {
      append(run | 0x8000, to: &bytes)
    }
  }

  private static func append<Integer: FixedWidthInteger>(_ value: Integer, to bytes: inout [UInt8]) {
    var shift = Integer.bitWidth
    while shift > 0 {
      shift -= 8
      bytes.append(UInt8(truncatingIfNeeded: value >> Integer(shift)))
    }
  }
}

/// A reader of the fields at the front of a frame.
private struct FieldReader {
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    rest = bytes
  }

  mutating func byte() -> UInt8? { rest.popFirst() }

  /// Returns the rest as a list of runs. `nil` if it is malformed.
  mutating func runs() -> [UInt16]? {
    guard rest.count <= Arrivals.longestList else { return nil }
    var runs: [UInt16] = []
    while let first = byte() {
      var run = UInt16(first)
      if first & 0x80 != 0 {
        guard let second = byte() else { return nil }
        run = UInt16(first & 0x7F) << 8 | UInt16(second)
      }
      guard run > 0 else { return nil }
      runs.append(run)
    }
    return runs
  }

  mutating func integer<Integer: FixedWidthInteger>() -> Integer? {
    guard rest.count >= Integer.bitWidth / 8 else { return nil }
    var value: Integer = 0
    for _ in 0..<(Integer.bitWidth / 8) { value = value << 8 | Integer(truncatingIfNeeded: rest.removeFirst()) }
    return value
  }
}
