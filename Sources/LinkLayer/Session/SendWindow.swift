/// Frames that were sent and not yet acknowledged, and which of them are lost.
///
/// A line never reorders. So whatever was sent before something that has arrived, and has not arrived itself, is lost:
/// no counting, no waiting. For that each transmission has an *order*; a frame that is sent again gets another.
struct SendWindow {
  private struct Record {
    let payload: [UInt8]
    let isLast: Bool
    var firstOrder: UInt64 = 0
    var order: UInt64 = 0
    var isArrived = false
    var isLost = false
  }

  /// What an acknowledgement has changed.
  struct Outcome {
    var arrivedBytes = 0
    /// Bytes by which the window's start has moved on.
    var advancedBytes = 0
    /// The report says less than an earlier one.
    var isOld = false
    var lostFrames = 0
    var lostBytes = 0
  }

  /// The number of the first frame that is not acknowledged.
  private(set) var first: UInt16 = 0
  /// Bytes of payload from there on: what the peer's window is compared with.
  private(set) var bytes = 0
  private var records = Queue<Record>()
  private var lostCount = 0
  private var nextOrder: UInt64 = 1

  var isEmpty: Bool { records.isEmpty }
  var count: Int { records.count }
  var hasLost: Bool { lostCount > 0 }

  /// Takes a number in the order of transmissions, also for what is no frame of the stream.
  mutating func takeOrder() -> UInt64 {
    defer { nextOrder += 1 }
    return nextOrder
  }

  /// A new frame, sent now.
  mutating func append(_ payload: [UInt8], isLast: Bool) -> (number: UInt16, payload: [UInt8]) {
    let number = first &+ UInt16(truncatingIfNeeded: records.count)
    var record = Record(payload: payload, isLast: isLast)
    record.order = takeOrder()
    record.firstOrder = record.order
    records.append(record)
    bytes += payload.count
    return (number, payload)
  }

  /// The oldest lost frame, sent again now.
  mutating func resend() -> (number: UInt16, payload: [UInt8], isLast: Bool)? {
    guard lostCount > 0 else { return nil }
    for index in 0..<records.count where records[index].isLost {
      records[index].isLost = false
      records[index].order = takeOrder()
      lostCount -= 1
      let number = first &+ UInt16(truncatingIfNeeded: index)
      return (number, records[index].payload, records[index].isLast)
    }
    return nil
  }

  /// What the peer has. `nil` where it speaks of frames that were never sent.
  mutating func acknowledge(next: UInt16, arrived: [UInt8]) -> Outcome? {
    let advance = Int(next &- first)
    var outcome = Outcome()
    outcome.isOld = advance > Int(UInt16.max) - FrameCodec.largestReport
    if outcome.isOld { return outcome }
    let reported = highestBit(in: arrived).map { advance + 1 + $0 + 1 } ?? advance
    guard reported <= records.count else { return nil }
    var latest: UInt64 = 0
    for index in 0..<records.count {
      let bit = index - advance - 1
      let isReported =
        index < advance || (bit >= 0 && bit < arrived.count * 8 && arrived[bit >> 3] >> (bit & 7) & 1 == 1)
      guard isReported, !records[index].isArrived else { continue }
      records[index].isArrived = true
      outcome.arrivedBytes += records[index].payload.count
      if records[index].isLost {
        records[index].isLost = false
        lostCount -= 1
      }
      // Which copy of a frame has arrived is not known: the first proves the least.
      latest = max(latest, records[index].firstOrder)
    }
    for _ in 0..<advance {
      guard let record = records.popFirst() else { break }
      outcome.advancedBytes += record.payload.count
    }
    bytes -= outcome.advancedBytes
    first = next
    markLost(before: latest, &outcome)
    return outcome
  }

  /// Something that was sent later than these has arrived.
  mutating func markLost(before order: UInt64, _ outcome: inout Outcome) {
    for index in 0..<records.count {
      let record = records[index]
      guard !record.isArrived, !record.isLost, record.order < order else { continue }
      records[index].isLost = true
      lostCount += 1
      outcome.lostFrames += 1
      outcome.lostBytes += record.payload.count
    }
  }

  private func highestBit(in bytes: [UInt8]) -> Int? {
    for index in stride(from: bytes.count - 1, through: 0, by: -1) where bytes[index] != 0 {
      return index * 8 + 7 - bytes[index].leadingZeroBitCount
    }
    return nil
  }
}
