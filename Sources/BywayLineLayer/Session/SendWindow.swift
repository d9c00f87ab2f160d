/// Frames that were sent and not yet acknowledged, and which of them are lost.
///
/// A line never reorders. So whatever was sent before something that has arrived, and has not arrived itself, is lost:
/// no counting, no waiting. For that each transmission has an *order*; a frame that is sent again gets another. Its earlier
/// copy was proved lost, so what arrives of it is the latest.
struct SendWindow {
  fileprivate enum State {
    case underWay, arrived, lost
  }

  fileprivate struct Record {
    var payload: ArraySlice<UInt8>
    /// The stream's byte behind it.
    var end: UInt64
    var isLast: Bool
    var order: UInt64
    /// The departures of its first copy and of its latest.
    let first: Passages.Departure
    var latest: Passages.Departure
    /// Its latest transmission bore correction.
    var isCorrectable: Bool
    var state = State.underWay

    var units: Int { Unit.count(payload.count) }
    var part: Passages.Part {
      Passages.Part(bytes: end - UInt64(payload.count)..<end, first: first, latest: latest)
    }
  }

  /// The changes by an acknowledgement.
  struct Outcome {
    /// The report says less than an earlier one.
    var isOld = false
    /// Units by which the window's start has moved on.
    var advancedUnits = 0
    var arrivedFrames = 0
    var lostFrames = 0
    /// The results of those that say something about the line.
    var trials = FrameSizer.Trials()
    /// The same of those that bore correction.
    var correctableTrials = FrameSizer.Trials(overhead: Corrector.overhead)
    /// The followed pieces that have arrived with all before them, in the order of the stream.
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

  /// Frames that are kept at once. Those that are sent again in pieces may be more.
  static let mostFrames = 1024

  /// The number of the first unit that is not acknowledged.
  private(set) var first: UInt16 = 0
  /// Units from there on: what the peer's window is compared with. And their bytes.
  private(set) var units = 0
  private(set) var bytes = 0
  /// Bytes of the stream that were sent so far.
  private var end: UInt64 = 0
  private var records = Queue<Record>()
  private var lostCount = 0
  private var nextOrder: UInt64 = 1
  /// The first transmission after an interruption. The loss of an earlier one says nothing about the line.
  private var steadySince: UInt64 = 0
  /// The first transmission with the present strength. Earlier ones had too little correction.
  private var strongSince: UInt64 = 0
  var passages = Passages()

  /// Bytes from the beginning of the stream that the peer has acknowledged.
  var delivered: UInt64 { end - UInt64(bytes) }
  var isEmpty: Bool { records.isEmpty }
  var count: Int { records.count }
  var hasLost: Bool { lostCount > 0 }

  /// Takes a number in the order of transmissions, also for what is not a frame of the stream.
  mutating func takeOrder() -> UInt64 {
    defer { nextOrder += 1 }
    return nextOrder
  }

  /// The line was gone, or may have been.
  mutating func interrupt() {
    steadySince = nextOrder
  }

  /// The frames with correction that are under way bear less than the line asks for: what becomes of them says nothing of others.
  mutating func excuseCorrectable() {
    strongSince = nextOrder
  }

  private func tells(_ record: Record) -> Bool {
    record.order >= (record.isCorrectable ? max(steadySince, strongSince) : steadySince)
  }

  /// A new frame, sent now.
  /// - Returns: its number.
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

  /// The first units that are lost, sent again now: as many as were in one frame, and as fit in one of this size.
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

  /// Makes two lost records of one that has more units.
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

  /// Takes a report of the units that the peer has, and had when a poll of this order came. `nil` if it names units that were never sent.
  /// - Parameter delay: from when a byte has left until it has arrived, in nanoseconds.
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
    // A list that was cut short says nothing of what comes after it.
    markLost(before: latest, within: report.runs.count % 2 == 0 ? .max : told - advance, &outcome)
    return outcome
  }

  /// - Returns: the latest transmission that has arrived.
  private mutating func markArrived(_ report: Arrivals, advance: Int, _ outcome: inout Outcome) -> UInt64 {
    var latest: UInt64 = 0
    var start = 0
    // The range of the present run of arrived units.
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

  /// Forgets so many units, which have arrived.
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

  /// Something that was sent later than these has arrived.
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
