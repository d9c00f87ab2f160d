/// The frames that were sent and not acknowledged, and which of them are lost.
///
/// A line never reorders frames. So when something has arrived, everything that was sent before it and has not arrived is lost, without a
/// count or timer. For this, each transmission has an *order*, and a retransmission gets a new one. A frame is sent again only when its
/// earlier copy is lost, so the copy that arrives is the latest.
struct SendWindow {
  fileprivate enum State {
    case underWay, arrived, lost
  }

  fileprivate struct Record {
    var payload: ArraySlice<UInt8>
    /// The offset in the stream of the byte after the frame.
    var end: UInt64
    var isLast: Bool
    var order: UInt64
    /// The departures of the first copy and of the latest.
    let first: Passages.Departure
    var latest: Passages.Departure
    /// Whether the latest transmission has correction.
    var isCorrectable: Bool
    var state = State.underWay

    var units: Int { Unit.count(payload.count) }
    var part: Passages.Part {
      Passages.Part(bytes: end - UInt64(payload.count)..<end, first: first, latest: latest)
    }
  }

  /// The changes by an acknowledgement.
  struct Outcome {
    /// Whether the report is older than one that has arrived before.
    var isOld = false
    /// The number of units that are newly acknowledged in order.
    var advancedUnits = 0
    var arrivedFrames = 0
    var lostFrames = 0
    /// The results of frames without correction that say something about the line.
    var trials = FrameSizer.Trials()
    /// The same for frames with correction.
    var correctableTrials = FrameSizer.Trials(overhead: Corrector.overhead)
    /// The followed ranges that have arrived, in the order of the stream.
    var passed: [Passage] = []

    fileprivate mutating func noteArrival(of record: Record) {
      if record.isCorrectable {
        correctableTrials.noteArrival(of: record.payload.count)
      } else {
        trials.noteArrival(of: record.payload.count)
      }
    }

    fileprivate mutating func noteLoss(of record: Record) {
      if record.isCorrectable {
        correctableTrials.noteLoss(of: record.payload.count)
      } else {
        trials.noteLoss(of: record.payload.count)
      }
    }
  }

  /// The largest number of frames. Frames that are split for a retransmission may exceed it.
  static let mostFrames = 1024

  /// The number of the first unit that is not acknowledged.
  private(set) var first: UInt16 = 0
  /// The number of units from ``first`` on, which the window of the peer limits, and their bytes.
  private(set) var units = 0
  private(set) var bytes = 0
  /// The bytes of the stream that were sent.
  private var end: UInt64 = 0
  private var records = Queue<Record>()
  private var lostCount = 0
  private var nextOrder: UInt64 = 1
  /// The first transmission after an interruption. Losses before it say nothing about the line.
  private var steadySince: UInt64 = 0
  /// The first transmission with the present strength. Earlier ones have too little correction.
  private var strongSince: UInt64 = 0
  var passages = Passages()

  /// The number of bytes of the stream that the peer has acknowledged.
  var delivered: UInt64 { end - UInt64(bytes) }
  var isEmpty: Bool { records.isEmpty }
  var count: Int { records.count }
  var hasLost: Bool { lostCount > 0 }

  /// Returns the order of a transmission. Frames other than DATA have one too.
  mutating func takeOrder() -> UInt64 {
    defer { nextOrder += 1 }
    return nextOrder
  }

  /// Notes an interruption of the line, which may have lost the frames in flight.
  mutating func interrupt() {
    steadySince = nextOrder
  }

  /// Excludes the frames in flight from the results, because they have less correction than the line needs.
  mutating func excuseCorrectable() {
    strongSince = nextOrder
  }

  private func tells(_ record: Record) -> Bool {
    record.order >= (record.isCorrectable ? max(steadySince, strongSince) : steadySince)
  }

  /// Adds a new frame that is sent now.
  /// - Returns: the number of its first unit.
  mutating func append(
    _ payload: [UInt8], isLast: Bool, isCorrectable: Bool = false, departure: Passages.Departure = .unknown
  ) -> UInt16 {
    let number = first &+ UInt16(truncatingIfNeeded: units)
    end += UInt64(payload.count)
    let record = Record(
      payload: payload[...], end: end, isLast: isLast, order: takeOrder(), first: departure,
      latest: departure, isCorrectable: isCorrectable)
    records.append(record)
    units += record.units
    bytes += payload.count
    return number
  }

  /// Returns the first lost units for a retransmission: those of one frame, and at most as many as fit.
  mutating func resend(
    _ size: Int, isCorrectable: Bool = false, departure: Passages.Departure = .unknown
  ) -> (number: UInt16, payload: ArraySlice<UInt8>, isLast: Bool)? {
    guard lostCount > 0 else { return nil }
    var number = first
    for index in 0..<records.count {
      if records[index].state == .lost {
        cut(index, after: max(size / Unit.size, 1))
        records[index].state = .underWay
        records[index].order = takeOrder()
        records[index].latest = departure
        records[index].isCorrectable = isCorrectable
        lostCount -= 1
        return (number, records[index].payload, records[index].isLast)
      }
      number &+= UInt16(truncatingIfNeeded: records[index].units)
    }
    return nil
  }

  /// Splits a lost frame in two.
  private mutating func cut(_ index: Int, after count: Int) {
    var rest = records[index]
    guard rest.units > count else { return }
    rest.payload = rest.payload.dropFirst(count * Unit.size)
    records[index].payload = records[index].payload.prefix(count * Unit.size)
    records[index].end = rest.end - UInt64(rest.payload.count)
    records[index].isLast = false
    records.insert(rest, at: index + 1)
    lostCount += 1
  }

  /// Processes a report of the units that the peer has, or had when the poll with this order arrived. `nil` if it names units that were
  /// never sent.
  /// - Parameter delay: the time from departure to arrival in nanoseconds.
  mutating func acknowledge(_ report: Arrivals, of poll: UInt64?, delay: UInt64 = 0) -> Outcome? {
    var outcome = Outcome()
    let advance = Unit.distance(from: first, to: report.next)
    outcome.isOld = advance < 0
    if outcome.isOld { return outcome }
    let told = report.runs.reduce(advance) { $0 + Int($1) }
    guard told <= units else { return nil }
    let latest = max(markArrived(report, advance: advance, &outcome), poll ?? 0)
    drop(advance, delay, &outcome)
    first = report.next
    outcome.advancedUnits = advance
    // An incomplete list says nothing about the units after it.
    markLost(before: latest, within: report.runs.count % 2 == 0 ? .max : told - advance, &outcome)
    return outcome
  }

  /// - Returns: the order of the latest transmission that has arrived.
  private mutating func markArrived(_ report: Arrivals, advance: Int, _ outcome: inout Outcome) -> UInt64 {
    var latest: UInt64 = 0
    var start = 0
    // The present run of units that have arrived.
    var run = 0..<advance
    var next = 0
    for index in 0..<records.count {
      let end = start + records[index].units
      while run.upperBound <= start, next + 1 < report.runs.count {
        let begin = run.upperBound + Int(report.runs[next])
        run = begin..<(begin + Int(report.runs[next + 1]))
        next += 2
      }
      if run.upperBound <= start { break }
      if records[index].state != .arrived, run.lowerBound <= start, end <= run.upperBound {
        if records[index].state == .lost { lostCount -= 1 }
        records[index].state = .arrived
        outcome.arrivedFrames += 1
        if tells(records[index]) { outcome.noteArrival(of: records[index]) }
        latest = max(latest, records[index].order)
      }
      start = end
    }
    return latest
  }

  /// Removes units that were acknowledged.
  private mutating func drop(_ count: Int, _ delay: UInt64, _ outcome: inout Outcome) {
    var left = count
    units -= count
    while left > 0, !records.isEmpty {
      let length = records[0].units
      if length > left {
        // The peer has taken a part of a frame, which is unusual but valid.
        bytes -= left * Unit.size
        records[0].payload = records[0].payload.dropFirst(left * Unit.size)
        return
      }
      left -= length
      bytes -= records[0].payload.count
      if let record = records.popFirst() { passages.acknowledged(record.part, delay: delay, into: &outcome.passed) }
    }
  }

  /// Marks frames as lost, because a later transmission has arrived.
  private mutating func markLost(before order: UInt64, within limit: Int, _ outcome: inout Outcome) {
    var start = 0
    for index in 0..<records.count {
      let record = records[index]
      start += record.units
      guard start <= limit else { return }
      guard record.state == .underWay, record.order < order else { continue }
      records[index].state = .lost
      lostCount += 1
      outcome.lostFrames += 1
      if tells(record) { outcome.noteLoss(of: record) }
    }
  }
}
