/// The questions of one end, OPEN and POLL, and its wait for their answers.
struct Asking {
  /// A poll whose answer has not come.
  struct Poll {
    let token: UInt8
    let order: UInt64
    let sentAt: UInt64
    /// The time that the answer may take besides the round trip.
    let expectedWait: UInt64
    let wasAtRest: Bool
  }

  /// A wait for an answer.
  struct Wait {
    let since: UInt64
    /// The time at which the line counts as interrupted, if nothing is heard until then.
    var silentAt: UInt64?
  }

  /// The next question, if nothing is heard.
  struct Due {
    let at: UInt64
    /// The time until which the question waits while a frame arrives.
    let by: UInt64
  }

  /// How often OPEN was sent.
  enum Opened {
    case never
    case once(at: UInt64)
    case repeatedly
  }

  private static let mostPolls = 8

  var needsOpen = false
  var needsPoll = false
  private(set) var opened = Opened.never
  private(set) var polls: [Poll] = []
  private var nextToken: UInt8 = 0
  /// Questions since something was heard.
  var unanswered = 0
  var wait: Wait?
  var due: Due?
  /// DATA has arrived, and the peer was not heard to be at rest since.
  var isMidStream = false
  var heardAt: UInt64
  private(set) var polledAt: UInt64 = 0

  init(heardAt: UInt64) {
    self.heardAt = heardAt
  }

  /// Whether nothing was received after two questions in a row. Data would only fill the queue of a line that is gone.
  var isHolding: Bool { unanswered >= 2 }

  /// Anything of the session was heard, so the other end lives.
  mutating func heard(at now: UInt64) {
    heardAt = now
    wait = nil
    unanswered = 0
  }

  /// The listener is known now, and is to be asked for itself.
  mutating func openAnew() {
    needsOpen = true
    opened = .never
  }

  /// Notes that OPEN is sent.
  mutating func open(at now: UInt64) {
    needsOpen = false
    opened = if case .never = opened { .once(at: now) } else { .repeatedly }
  }

  /// Notes that a poll is sent, and gives it a token.
  mutating func poll(order: UInt64, expectedWait: UInt64, wasAtRest: Bool, at now: UInt64) -> Poll {
    let poll = Poll(token: nextToken, order: order, sentAt: now, expectedWait: expectedWait, wasAtRest: wasAtRest)
    needsPoll = false
    polledAt = now
    nextToken &+= 1
    polls.append(poll)
    if polls.count > Self.mostPolls { polls.removeFirst() }
    return poll
  }

  /// The poll that an answer names. Those before it will not be answered any more.
  mutating func takePoll(_ token: UInt8) -> Poll? {
    guard let index = polls.firstIndex(where: { $0.token == token }) else { return nil }
    let poll = polls[index]
    polls.removeFirst(index + 1)
    return poll
  }
}
