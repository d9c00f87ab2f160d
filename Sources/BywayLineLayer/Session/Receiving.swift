/// The direction of a session from the other end, and the reports that are owed to it.
struct Receiving {
  var units: ReceiveWindow
  /// When the other end began to send what came last of the stream.
  var arrivalBegan: UInt64?
  var hasReportedFinish = false
  /// When an acknowledgement must go, if one is owed.
  private(set) var reportBy: UInt64?
  /// Frames that arrived since the last one.
  private(set) var unreported = 0
  private var reports: UInt = 0
  /// NOISE is to be sent.
  var needsNoise = false
  /// The unit of the stream that the peer may send up to, as it was last told.
  private var toldLimit: UInt64 = 0
  /// The noise that was reported last; `nil` if none was.
  private var toldNoise: Noise?
  /// The poll to answer, and when it came.
  private(set) var answer: (token: UInt8, since: UInt64)?
  /// Polls since anything else was heard: the answers to those before are lost.
  private var questions = 0

  init(capacity: Int) {
    units = ReceiveWindow(capacity: capacity)
  }

  var owesReport: Bool { answer != nil || reportBy != nil }

  /// All has come, and nothing is owed.
  var isComplete: Bool { units.isFinished && hasReportedFinish && !owesReport }

  /// The other end may soon have to wait for the window, and it has grown by enough to be worth a frame.
  func hasMoreToOffer(of capacity: Int) -> Bool {
    let quarter = UInt64(capacity / Unit.size / 4)
    return units.limit >= toldLimit + quarter && toldLimit < units.position + 2 * quarter
  }

  /// Notes that all of the window was offered.
  mutating func offered() {
    toldLimit = units.limit
  }

  mutating func takeQuestion(_ token: UInt8, at now: UInt64) {
    answer = (token, now)
    questions += 1
  }

  /// The peer is not waiting for an answer, or not only.
  mutating func tookOther() {
    questions = 0
  }

  /// Notes that a frame has come, of which nothing was reported yet.
  /// - Returns: whether enough has come to be worth a report.
  mutating func tookFrame() -> Bool {
    unreported += 1
    return unreported >= 2
  }

  mutating func owe(by time: UInt64) {
    reportBy = min(reportBy ?? .max, time)
  }

  /// Units that the other end may send, from the first on that has not arrived.
  var window: UInt16 { UInt16(units.window) }

  /// What has arrived, for the next report. Its list in an answer to a repeated question is ever shorter, because a short one that arrives is worth
  /// more than a long one that does not.
  var arrivals: Arrivals { units.arrivals(within: Arrivals.longestList >> min(2 * max(questions - 1, 0), 8)) }

  /// Notes the noise that is received now. It is reported if it differs enough from the last report.
  mutating func hear(_ noise: Noise) {
    let told = toldNoise ?? .none
    if abs(Int(noise.code) - Int(told.code)) >= 3 { needsNoise = true }
  }

  mutating func tell(_ noise: Noise) {
    toldNoise = noise
    needsNoise = false
  }

  /// Notes that a report was sent and all of the window offered. A noise level that was reported before is reported again behind an
  /// answer and at intervals, because it may have been lost.
  mutating func reported() {
    if toldNoise != nil, answer != nil || reports % 8 == 7 { needsNoise = true }
    answer = nil
    reports &+= 1
    rode()
    offered()
  }

  /// Notes that data has said what has arrived.
  mutating func rode() {
    reportBy = nil
    unreported = 0
  }
}
