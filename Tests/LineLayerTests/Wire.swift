@testable import BywayLineLayer

/// Frames to bytes and back, as another program at the line would have them.
enum Wire {
  static func bytes(of frame: Frame, seal: SessionID? = nil) -> [UInt8] {
    var scratch: [UInt8] = []
    var output: [UInt8] = []
    FrameCodec.encode(frame, seal: seal, scratch: &scratch, into: &output)
    return output
  }

  /// A body of one's own, with a check that holds.
  static func bytes(ofBody body: [UInt8], seal: SessionID? = nil) -> [UInt8] {
    var checksum = CRC32C()
    if let seal, let kind = body.first, kind >= 0x40 {
      checksum.update(bigEndian(seal.session) + bigEndian(seal.incarnation))
    }
    checksum.update(body)
    var output: [UInt8] = []
    COBS.encode(body + bigEndian(checksum.value), into: &output)
    return output
  }

  static func frames(in bytes: [UInt8], seal: SessionID? = nil) -> [Frame] {
    bytes.split(separator: 0).compactMap { run in
      var run = Array(run)
      return FrameCodec.decode(&run, seal: seal)
    }
  }

  private static func bigEndian(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }
}

extension LineLayer {
  mutating func takeEvents() -> [LineLayerEvent] {
    var events: [LineLayerEvent] = []
    while let event = nextEvent() { events.append(event) }
    return events
  }

  /// Everything that it wants to send now.
  mutating func transmit(at now: UInt64) -> [UInt8] {
    var output: [UInt8] = []
    while nextTransmit(at: now, into: &output) {}
    return output
  }

  /// The same as frames; what is sealed, for `seal` or the session that there is.
  mutating func sentFrames(at now: UInt64, seal: SessionID? = nil) -> [Frame] {
    let seal = seal ?? session?.id
    return Wire.frames(in: transmit(at: now), seal: seal)
  }

  /// A frame has come, sealed for the session that there is.
  mutating func receive(_ frame: Frame, seal: SessionID? = nil, at now: UInt64) {
    receive(Wire.bytes(of: frame, seal: seal ?? session?.id), at: now)
  }
}

extension LineLayerEvent {
  var bytes: [UInt8] {
    if case .received(let bytes) = self { bytes } else { [] }
  }
}
