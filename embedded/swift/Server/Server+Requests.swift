extension Server {
  /// Calls the service, which may select other requests.
  @inline(never)
  mutating func tell<S: Service & ~Copyable>(_ event: Event, _ service: inout S) -> Int {
    let number = number
    let count = service.handle(event, of: &self)
    self.number = number
    return count
  }

  /// Ends a request that will not be answered.
  @inline(never)
  mutating func abandon<S: Service & ~Copyable>(_ service: inout S) {
    let index = index
    let isTold = requests[index].answer != .noRequest && requests[index].answer != .answered
    requests[index].state = .over
    if requests[index].answer != .noRequest { requests[index].answer = .answered }
    if isTold, requests[index].status == 0 { _ = tell(.gone, &service) }
  }

  /// Whether the peer has ended its direction, and all bytes were taken.
  private mutating func hasPeerEnded() -> Bool {
    let hasEnded = channel.isMultiplexed ? requests[index].input == .ended : channel.line.hasEnded()
    return hasEnded && requests[index].hasConsumedStaged()
  }

  /// Tells the service about the request, once there is room for the answer.
  private mutating func beginRequest<S: Service & ~Copyable>(_ service: inout S) {
    let index = index
    requests[index].answer = .unanswered
    requests[index].state =
      requests[index].flags.hasChunks ? .chunkSize : requests[index].bodyLeft > 0 ? .body : .bodyDone
    requests[index].headSize = 0
    if hasPeerEnded() { requests[index].flags.inputEnded = true }
    _ = tell(.request, &service)
    if requests[index].flags.expectsContinue, requests[index].answer == .unanswered, requests[index].state != .bodyDone
    {
      requests[index].sendContinue(&channel)
    }
  }

  /// Answers a request that the server itself refuses. It is the last of the session or stream.
  private mutating func answerRefused<S: Service & ~Copyable>(_ service: inout S) {
    let index = index
    let answer = requests[index].answer
    if answer != .noRequest, answer != .answered { _ = tell(.gone, &service) }
    if answer == .noRequest || answer == .unanswered {
      requests[index].answer = .unanswered
      requests[index].flags.closes = true
      let none: StaticString = ""
      _ = requests[index].begin(requests[index].status, type: none.bytes, length: 0, fields: none.bytes, &channel)
    }
    requests[index].answer = .answered
  }

  /// Ends a request that is complete and answered.
  private mutating func endRequest(_ now: Moment) {
    let index = index
    if requests[index].flags.closes {
      requests[index].state = .over
      leave(now)
    } else {
      requests[index].reset()
    }
  }

  /// Ends the session or the stream of the request. No more is written for it.
  mutating func leave(_ now: Moment) {
    let index = index
    if !channel.isMultiplexed {
      channel.line.leave(now: now)
    } else if requests[index].output == .sends {
      requests[index].output = .owesEnd
    }
  }

  /// Passes bytes of the body to the service. Returns how many it took.
  private mutating func takeBody<S: Service & ~Copyable>(_ service: inout S) -> Int {
    let index = index
    var count = requests[index].offer()
    if requests[index].answer != .answered { count = min(tell(.body, &service), count) }
    requests[index].use(max(count, 0))
    return count
  }

  /// Does one step. Returns false if there is nothing to do.
  @inline(never)
  private mutating func step<S: Service & ~Copyable>(_ service: inout S, _ now: Moment) -> Bool {
    let index = index
    if requests[index].answer == .content { requests[index].sendContent(&channel) }
    if requests[index].mayAnswer(), !requests[index].isRoomy(&channel) { return false }
    switch requests[index].state {
    case .over:
      return false
    case .refused:
      answerRefused(&service)
      requests[index].flags.closes = true
      endRequest(now)
      return true
    case .headDone:
      beginRequest(&service)
      return true
    case .bodyDone:
      requests[index].state = .complete
      if requests[index].answer != .answered { _ = tell(.end, &service) }
      return true
    case .complete:
      if requests[index].answer != .answered { return false }
      endRequest(now)
      return true
    default:
      break
    }
    if requests[index].hasConsumedStaged() {
      requests[index].stage(&channel)
      if requests[index].hasConsumedStaged() { return false }
    }
    switch requests[index].state {
    case .body, .chunk: return takeBody(&service) > 0
    case .startLine, .fields: requests[index].takeHeadByte(requests[index].takeStaged(), S.self)
    default: requests[index].takeChunkByte(requests[index].takeStaged())
    }
    return true
  }

  private mutating func stepAll<S: Service & ~Copyable>(_ service: inout S, _ now: Moment) {
    while step(&service, now) {}
  }

  /// Handles the end of the peer's stream. Requests before it are answered. If the end comes in the middle of an answer, the rest is
  /// dropped, because it stands for the end of the connection.
  private mutating func endSession<S: Service & ~Copyable>(_ service: inout S, _ now: Moment) {
    let index = index
    let state = requests[index].state
    if state == .headDone || state == .refused || (requests[index].flags.inputEnded && state == .complete) { return }
    if channel.isMultiplexed, requests[index].isAnswering() { requests[index].output = .owesAbort }
    abandon(&service)
    leave(now)
  }

  /// Serves the request as far as possible.
  @inline(never)
  mutating func serveRequest<S: Service & ~Copyable>(_ service: inout S, _ now: Moment) {
    let index = index
    stepAll(&service, now)
    if Sizes.streams > 0, requests[index].flags.awaitsRoom,
      requests[index].answer != .unanswered || requests[index].isRoomy(&channel)
    {
      requests[index].flags.awaitsRoom = false
      if requests[index].answer == .unanswered { _ = tell(.room, &service) }
      stepAll(&service, now)
    }
    if requests[index].isAnswering(), requests[index].answer != .content, channel.hasTurn(), room() > 0 {
      _ = tell(.room, &service)
      stepAll(&service, now)
    }
    if requests[index].state != .over, hasPeerEnded() { endSession(&service, now) }
  }
}
