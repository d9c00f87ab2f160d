@testable import BywayLineLayer

/// An encoder and a decoder of frames, for the peer of a tested end.
enum Wire {
  static func bytes(of frame: Frame, seal: SessionID? = nil) -> [UInt8] {
    var scratch: [UInt8] = []
    var output: [UInt8] = []
    FrameCodec.encode(frame, seal: seal, scratch: &scratch, into: &output)
    return output
  }

  /// Returns a frame with any body, and a valid check.
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

  /// Returns all bytes that it wants to send now.
  mutating func transmit(at now: UInt64) -> [UInt8] {
    var output: [UInt8] = []
    while nextTransmit(at: now, into: &output) {}
    return output
  }

  /// Returns all frames that it wants to send now. Sealed frames are those of `seal` or the current session.
  mutating func sentFrames(at now: UInt64, seal: SessionID? = nil) -> [Frame] {
    let seal = seal ?? session?.id
    return Wire.frames(in: transmit(at: now), seal: seal)
  }

  /// Receives a frame that is sealed for `seal` or the current session.
  mutating func receive(_ frame: Frame, seal: SessionID? = nil, at now: UInt64) {
    receive(Wire.bytes(of: frame, seal: seal ?? session?.id), at: now)
  }
}

extension LineLayerEvent {
  var bytes: [UInt8] {
    if case .received(let bytes) = self { bytes } else { [] }
  }
}
