import BywayLineLayer

/// Conversion of frames with error correction from and to scripts: docs/wire-protocol.md, section 7.
extension TestPeer {
  /// Encodes a frame with correction, and adds the errors of the script.
  func correctable(_ frame: Frame, _ strength: Int, _ pattern: FramePattern, seal: SessionID) -> [UInt8] {
    let excess = number(pattern[.length]) ?? 0
    var wire = CorrectableFrame.wire(of: frame, strength: strength, seal: seal, excess: excess)
    for bit in 0..<(number(pattern[.sync]) ?? 0) where bit < 24 { wire[bit % 3] ^= 1 << UInt8(bit / 3) }
    for byte in 0..<(number(pattern[.header]) ?? 0) where byte < 6 { wire[3 + byte] ^= 0x5A }
    // A short frame has one code word.
    for byte in 0..<(number(pattern[.wrong]) ?? 0) {
      let index = CorrectableFrame.bodyOffset + byte
      if index < wire.count { wire[index] ^= 0xA5 }
    }
    return wire
  }

  /// Decodes a run of bytes from the end, if it is a frame.
  func read(_ run: FrameSplitter.Run, at now: UInt64) -> ReceivedFrame? {
    if run.hasCorrection {
      return CorrectableFrame.read(run.bytes, seal: run.isOpening ? FrameSplitter.openings : id).map {
        ReceivedFrame(frame: $0.frame, zeros: run.zeros, strength: $0.strength, at: now)
      }
    }
    var bytes = run.bytes
    return FrameCodec.decode(&bytes, seal: id).map {
      ReceivedFrame(frame: $0, zeros: run.zeros, strength: nil, at: now)
    }
  }

  func agrees(strength value: FramePattern.Value?, _ actual: Int?) -> Bool {
    switch value {
    case nil: true
    case .number(let number): actual == number
    case .word("some"): actual != nil
    case .word, .offset: actual == nil
    }
  }

  func agrees(level value: FramePattern.Value?, _ actual: Noise) -> Bool {
    switch value {
    case nil: true
    case .number(let number): Int(actual.code) == number
    case .word("some"): actual != .none
    case .word, .offset: actual == .none
    }
  }
}

extension ReceivedFrame {
  /// The frame in the notation of scripts.
  var summary: String { frame.summary + (strength.map { " strength=\($0)" } ?? "") }
}
