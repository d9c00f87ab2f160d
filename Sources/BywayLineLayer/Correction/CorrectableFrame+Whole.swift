/// Complete frames, for a test peer on a line that adds no errors of its own.
extension CorrectableFrame {
  /// Encodes a frame with error correction. The strength is an index of the table.
  /// - Parameter excess: the number of bytes by which the header overstates the length.
  package static func wire(of frame: Frame, strength index: Int, seal: SessionID, excess: Int = 0) -> [UInt8] {
    var codec = ReedSolomon()
    var body: [UInt8] = []
    FrameCodec.write(frame, seal: seal, into: &body)
    var wire: [UInt8] = []
    encode(body, Strength(index: index), sync: sync(of: seal), codec: &codec, into: &wire)
    guard excess > 0 else { return wire }
    var longer: [UInt8] = []
    body += [UInt8](repeating: 0, count: excess)
    encode(body, Strength(index: index), sync: sync(of: seal), codec: &codec, into: &longer)
    return Array(longer.prefix(leadLength) + wire.dropFirst(leadLength))
  }

  /// Returns the sync word of a session, which begins each frame with correction.
  package static func syncBytes(of session: SessionID) -> [UInt8] {
    let sync = sync(of: session)
    return [16, 8, 0].map { UInt8(truncatingIfNeeded: sync >> $0) }
  }

  /// Returns the length of the frame that begins with these undamaged bytes; `nil` if they are not a header.
  package static func length(beginning lead: some Collection<UInt8>) -> Int? {
    var codec = ReedSolomon()
    guard lead.count >= leadLength else { return nil }
    let fields = lead.dropFirst(syncLength).prefix(headerLength).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    return readHeader(fields, codec: &codec).map { leadLength + $0.length }
  }

  /// Decodes a complete frame without errors.
  package static func read(_ wire: [UInt8], seal: SessionID) -> (frame: Frame, strength: Int)? {
    var codec = ReedSolomon()
    guard wire.count >= leadLength else { return nil }
    let fields = wire[syncLength..<leadLength].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    guard let header = readHeader(fields, codec: &codec), wire.count == leadLength + header.length else { return nil }
    var body = Array(wire[leadLength...])
    guard correct(&body, header, codec: &codec) != nil, let frame = FrameCodec.read(body, seal: seal) else {
      return nil
    }
    return (frame, header.strength.index)
  }

  package static var bodyOffset: Int { leadLength }
}
