/// A UART that reads a line at another rate than the transmitter's, with 8N1. It starts at a falling edge and takes a sample in the middle
/// of each bit as it expects them. So it reads wrong bytes: fewer if it is slower, more if it is faster.
///
/// It has no random numbers: the result does not depend on how the bytes are split into calls. If the rates differ by a few per cent, the
/// bytes are read correctly, as by a real UART.
struct MismatchedReceiver: Sendable {
  /// A character that is being read.
  private struct Character: Sendable {
    let start: Double
    /// The number of samples taken.
    var taken = 0
    var value: UInt8 = 0
  }

  /// A character on the wire.
  private struct Sent {
    let value: UInt8
    let start: Double
    let end: Double
    let bit: Double

    func level(at time: Double) -> Bool { level(of: Int((time - start) / bit)) }

    func level(of index: Int) -> Bool {
      switch index {
      case ..<1: false
      case 1...8: value >> (index - 1) & 1 == 1
      default: true
      }
    }

    /// Returns the first falling edge from this time on. The start bit always has one.
    func fallingEdge(from time: Double) -> Double? {
      if time <= start { return start }
      for index in 2...8 where level(of: index - 1) && !level(of: index) {
        let edge = start + Double(index) * bit
        if edge >= time { return edge }
      }
      return nil
    }
  }

  /// The samples of a start bit, eight data bits and a stop bit.
  private static let samples = 10

  /// The time of a bit in nanoseconds, as sent and as read.
  private let sentBit: Double
  private let readBit: Double
  private let characterLength: Double
  private var character: Character?
  /// The end of the last character. The line is high from then on.
  private var quietFrom = 0.0
  /// The time from which the receiver looks for an edge.
  private var freeFrom = 0.0

  init(sent: Double, read: Double, bitsPerCharacter: Int) {
    sentBit = 1e9 / sent
    readBit = 1e9 / read
    characterLength = sentBit * Double(bitsPerCharacter)
  }

  /// The time at which the current character is complete, if nothing more is sent.
  var end: UInt64? { character.map { UInt64($0.start + (Double(Self.samples) - 0.5) * readBit) + 1 } }

  /// Replaces bytes by those that this receiver reads.
  mutating func read(_ bytes: inout WireBytes) {
    var found = WireBytes()
    for (value, time) in zip(bytes.values, bytes.times) {
      let end = Double(time)
      let sent = Sent(value: value, start: max(end - characterLength, quietFrom), end: end, bit: sentBit)
      take(until: sent.start, level: { _ in true }, &found)
      while true {
        take(until: end, level: sent.level(at:), &found)
        guard character == nil, let edge = sent.fallingEdge(from: freeFrom) else { break }
        character = Character(start: edge)
      }
      quietFrom = max(quietFrom, end)
    }
    bytes.replaceAll(by: found)
  }

  /// Drops the current character, because its device is gone.
  mutating func reset() { character = nil }

  /// Completes a character after which the line is idle until this time.
  mutating func idle(until time: UInt64) -> WireBytes {
    var found = WireBytes()
    take(until: Double(time), level: { _ in true }, &found)
    found.countInserted()
    return found
  }

  /// Takes the samples before a time.
  private mutating func take(until end: Double, level: (Double) -> Bool, _ found: inout WireBytes) {
    guard var character else { return }
    while character.taken < Self.samples {
      let time = character.start + (Double(character.taken) + 0.5) * readBit
      guard time < end else {
        self.character = character
        return
      }
      let isHigh = level(time)
      switch character.taken {
      case 0 where isHigh:
        // The start bit was not valid.
        self.character = nil
        freeFrom = time
        return
      case 1...8 where isHigh: character.value |= 1 << (character.taken - 1)
      case 9 where !isHigh: found.countFramingError()
      default: break
      }
      character.taken += 1
      freeFrom = time
    }
    found.append([character.value], times: [UInt64(freeFrom)])
    self.character = nil
  }
}
