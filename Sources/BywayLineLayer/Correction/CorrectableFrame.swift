/// A frame with error correction: a sync word, a header with its length, and a body in code words. It is not byte-stuffed, so a wrong byte
/// damages nothing else. docs/wire-protocol.md, section 7.
package enum CorrectableFrame {
  static let syncLength = 3
  /// The length and strength, with parity for two wrong bytes.
  private static let header = CodeWord(start: 0, count: 2, stride: 1, parityStart: 2, parity: 4)
  static let headerLength = 6
  static let leadLength = syncLength + headerLength
  /// The number of wrong bits that a sync word may have.
  static let tolerance = 2
  /// The largest body in bytes.
  static let longestBody = 4095
  /// The smallest body in bytes: a kind and a check.
  private static let shortestBody = 5

  /// Returns the sync word of a session. It differs between sessions, so that data of a stream hardly ever contains it.
  static func sync(of session: SessionID) -> UInt32 { FrameCodec.checksum(of: [], seal: session) >> 8 }

  /// The sync word of copies of HELLO and OPEN, which may come before there is a session.
  static let syncOfOpenings = sync(of: SessionID(session: 0, incarnation: 0))
  /// The largest body of such a copy in bytes.
  static let longestOpening = 32

  static func length(of count: Int, _ strength: Strength) -> Int { leadLength + count + strength.parity(of: count) }

  /// Appends an encoded frame. The body includes its check.
  static func encode(
    _ body: [UInt8], _ strength: Strength, sync: UInt32, codec: inout ReedSolomon, into output: inout [UInt8]
  ) {
    for shift in [16, 8, 0] as [UInt32] { output.append(UInt8(truncatingIfNeeded: sync >> shift)) }
    let fields = UInt16(strength.index << 12 | body.count)
    output.append(UInt8(truncatingIfNeeded: fields >> 8))
    output.append(UInt8(truncatingIfNeeded: fields))
    output.append(contentsOf: repeatElement(0, count: header.parity))
    let start = output.count
    output.append(contentsOf: body)
    output.append(contentsOf: repeatElement(0, count: strength.parity(of: body.count)))
    output.withUnsafeMutableBufferPointer { output in
      codec.encode(header, in: UnsafeMutableBufferPointer(rebasing: output[(start - headerLength)..<start]))
      let frame = UnsafeMutableBufferPointer(rebasing: output[start...])
      for number in 0..<strength.words(body.count) {
        codec.encode(word(number, of: body.count, strength), in: frame)
      }
    }
  }

  /// The contents of a header.
  struct Header {
    let strength: Strength
    let count: Int
    /// The number of wrong bytes in the header.
    let errors: Int

    var length: Int { count + strength.parity(of: count) }
  }

  /// Decodes the six bytes of a header. `nil` if they are not one.
  static func readHeader(_ bytes: UInt64, codec: inout ReedSolomon) -> Header? {
    var bytes = bytes << 16
    // In network byte order.
    let errors: Int? = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: headerLength) { buffer in
      for index in 0..<headerLength { buffer[index] = UInt8(truncatingIfNeeded: bytes >> UInt64(56 - 8 * index)) }
      let errors = codec.decode(header, in: buffer)
      bytes = UInt64(buffer[0]) << 8 | UInt64(buffer[1])
      return errors
    }
    let count = Int(bytes & 0xFFF)
    guard let errors, count >= shortestBody, bytes >> 12 < Strength.count else { return nil }
    return Header(strength: Strength(index: Int(bytes >> 12)), count: count, errors: errors)
  }

  /// Corrects a body in place and removes its parity.
  /// - Returns: the number of wrong bytes; `nil` if a code word has too many.
  static func correct(_ body: inout [UInt8], _ header: Header, codec: inout ReedSolomon) -> Int? {
    let errors = body.withUnsafeMutableBufferPointer { frame -> Int? in
      var errors = header.errors
      for number in 0..<header.strength.words(header.count) {
        guard let wrong = codec.decode(word(number, of: header.count, header.strength), in: frame) else { return nil }
        errors += wrong
      }
      return errors
    }
    if errors != nil { body.removeLast(body.count - header.count) }
    return errors
  }

  private static func word(_ number: Int, of count: Int, _ strength: Strength) -> CodeWord {
    let words = strength.words(count)
    return CodeWord(
      start: number, count: (count - number + words - 1) / words, stride: words, parityStart: count + number,
      parity: strength.parity)
  }
}
