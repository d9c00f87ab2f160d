/// The questions of an end, OPEN and POLL, and the wait for their answers.
struct Questions {
  /// A poll that was not answered yet.
  struct Poll {
    let token: UInt8
    let order: UInt64
    let sentAt: UInt64
    /// The time that the answer may take in addition to the round trip.
    let expectedWait: UInt64
    let wasAtRest: Bool
  }

  /// A wait for an answer.
  struct Wait {
    let since: UInt64
    /// The time at which the line counts as interrupted if nothing arrives.
    var silentAt: UInt64?
  }

  /// The time of the next question if nothing arrives.
  struct Due {
    let at: UInt64
    /// The latest time of the question. It waits until then for the rest of a frame.
    let by: UInt64
  }

  /// The number of OPENs that were sent.
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
  /// The questions since the latest received frame.
  var unanswered = 0
  var wait: Wait?
  var due: Due?
  /// Whether DATA has arrived, and the sending queue of the peer was not seen empty since.
  var isMidStream = false
  var heardAt: UInt64
  private(set) var polledAt: UInt64 = 0

  init(heardAt: UInt64) {
    self.heardAt = heardAt
  }

  /// Whether two questions in a row got no answer. Then no DATA is sent, because it would only fill the queue of a broken line.
  var isHolding: Bool { unanswered >= 2 }

  /// Notes that a frame of the session has arrived.
  mutating func heard(at now: UInt64) {
    heardAt = now
    wait = nil
    unanswered = 0
  }

  /// Starts over with OPEN, because the listener is known now.
  mutating func restartOpening() {
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

  /// Returns the poll that an answer names, and drops those before it, which will not be answered.
  mutating func takePoll(_ token: UInt8) -> Poll? {
    guard let index = polls.firstIndex(where: { $0.token == token }) else { return nil }
    let poll = polls[index]
    polls.removeFirst(index + 1)
    return poll
  }
}
