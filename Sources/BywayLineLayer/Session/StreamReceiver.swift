/// The receiving direction of a session, and the reports that this end owes the peer.
struct StreamReceiver {
  var units: ReceiveWindow
  /// The time at which the peer began to send the latest data of the stream.
  var arrivalBegan: UInt64?
  var hasReportedFinish = false
  /// The time by which an acknowledgement must be sent; `nil` if none is owed.
  private(set) var reportBy: UInt64?
  /// The frames since the latest acknowledgement.
  private(set) var unreported = 0
  private var reports: UInt = 0
  /// Whether NOISE must be sent.
  var needsNoise = false
  /// The end of the window that the peer was told, as a unit of the stream.
  private var sentLimit: UInt64 = 0
  /// The noise in the latest report; `nil` before the first.
  private var reportedNoise: Noise?
  /// The poll to answer, and the time at which it arrived.
  private(set) var answer: (token: UInt8, since: UInt64)?
  /// The polls in a row without another frame. The answers to all but the last were lost.
  private var pollsInARow = 0

  init(capacity: Int) {
    units = ReceiveWindow(capacity: capacity)
  }

  var owesReport: Bool { answer != nil || reportBy != nil }

  /// Whether the direction has ended and no report is owed.
  var isComplete: Bool { units.isFinished && hasReportedFinish && !owesReport }

  /// Whether to send the window: the peer may soon be blocked, and the window has grown enough for a frame.
  func hasMoreToOffer(of capacity: Int) -> Bool {
    let quarter = UInt64(capacity / Unit.size / 4)
    return units.limit >= sentLimit + quarter && sentLimit < units.position + 2 * quarter
  }

  /// Notes that the present window was sent.
  mutating func offered() {
    sentLimit = units.limit
  }

  mutating func takeQuestion(_ token: UInt8, at now: UInt64) {
    answer = (token, now)
    pollsInARow += 1
  }

  /// Notes that the peer sent a frame other than a poll.
  mutating func tookOther() {
    pollsInARow = 0
  }

  /// Notes that a frame has arrived.
  /// - Returns: whether enough frames have arrived for an acknowledgement.
  mutating func tookFrame() -> Bool {
    unreported += 1
    return unreported >= 2
  }

  mutating func owe(by time: UInt64) {
    reportBy = min(reportBy ?? .max, time)
  }

  /// The number of units from the first missing one on that the peer may send.
  var window: UInt16 { UInt16(units.window) }

  /// The units that have arrived, for the next report. The list becomes shorter with each repeated question, because a short frame is more
  /// likely to arrive.
  var arrivals: Arrivals { units.arrivals(within: Arrivals.longestList >> min(2 * max(pollsInARow - 1, 0), 8)) }

  /// Notes the present noise. It is reported if it differs enough from the latest report.
  mutating func note(_ noise: Noise) {
    let told = reportedNoise ?? .none
    if abs(Int(noise.code) - Int(told.code)) >= 3 { needsNoise = true }
  }

  mutating func tell(_ noise: Noise) {
    reportedNoise = noise
    needsNoise = false
  }

  /// Notes that a report with the whole window was sent. The noise is reported again with each answer and at intervals, because a report
  /// may be lost.
  mutating func reported() {
    if reportedNoise != nil, answer != nil || reports % 8 == 7 { needsNoise = true }
    answer = nil
    reports &+= 1
    acknowledgedInData()
    offered()
  }

  /// Notes that a DATA frame carried the acknowledgement.
  mutating func acknowledgedInData() {
    reportBy = nil
    unreported = 0
  }
}
