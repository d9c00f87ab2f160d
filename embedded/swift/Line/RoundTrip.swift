/// The round-trip time, as measured by POLL and ANSWER (section 6, r).
struct RoundTrip {
  /// A POLL that was not answered yet.
  struct Question {
    /// The time at which its last byte left.
    var sent = Moment(milliseconds: 0)
    /// The order of its transmission (section 5).
    var order: UInt16 = 0
    var token: UInt8 = 0
    var isWaiting = false
  }

  private(set) var trip: UInt16 = 0
  private var smoothed: UInt16 = 0  // in 1/8 ms
  private var variation: UInt16 = 0  // in 1/4 ms
  private(set) var token: UInt8 = 0
  private var questions: InlineArray<4, Question> = .init(repeating: Question())

  /// Begins a session with an assumed round-trip time.
  mutating func begin(pacer: Pacer) {
    for index in 0..<4 { questions[index].isWaiting = false }
    let longest = 60 &+ pacer.time(of: Sizes.run &+ 1)
    smoothed = 0
    trip = UInt16(truncatingIfNeeded: pacer.isPaced && longest < 300 ? longest : 300)
  }

  /// Notes a POLL with this order, and returns its token.
  mutating func ask(order: UInt16) -> UInt8 {
    token &+= 1
    questions[Int(token & 3)] = Question(
      sent: questions[Int(token & 3)].sent, order: order, token: token, isWaiting: true)
    return token
  }

  /// Notes the time at which the latest POLL leaves the line.
  mutating func noteSent(_ moment: Moment) {
    questions[Int(token & 3)].sent = moment
  }

  /// Processes the answer to a POLL.
  /// - Parameter delay: the time that the answer waited, in units of 0.5 ms; 255 for more.
  /// - Returns: the order of the POLL; `nil` if the POLL is not known.
  mutating func takeAnswer(_ token: UInt8, delay: UInt8, pacer: Pacer, _ now: Moment) -> UInt16? {
    let question = questions[Int(token & 3)]
    guard question.isWaiting, question.token == token else { return nil }
    questions[Int(token & 3)].isWaiting = false
    if delay != 255 {
      let time = (now - question.sent) &- pacer.time(of: 13) &- UInt32(delay) / 2
      takeSample(min(max(Int32(bitPattern: time), 0), 2000))
    }
    return question.order
  }

  private mutating func takeSample(_ sample: Int32) {
    if smoothed == 0 {
      smoothed = UInt16(truncatingIfNeeded: sample &* 8 &+ 1)
      variation = UInt16(truncatingIfNeeded: sample &* 2)
    } else {
      let difference = sample &- Int32(smoothed / 8)
      smoothed = UInt16(truncatingIfNeeded: Int32(smoothed) &+ difference)
      let size = difference < 0 ? 0 &- difference : difference
      variation = UInt16(truncatingIfNeeded: Int32(variation) &+ size &- Int32(variation / 4))
    }
    trip = smoothed / 8 &+ max(variation, 10)
  }
}
