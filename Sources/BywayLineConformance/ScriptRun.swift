/// The progress of one script: the next step, and the time that it waits for. Times are nanoseconds.
struct ScriptRun: Sendable {
  enum Outcome: Sendable, Equatable {
    case passed
    /// The check failed for this reason, a full sentence.
    case failed(String)
  }

  /// An action of the tester other than receiving.
  enum Action: Sendable, Equatable {
    case send(Transmission)
    case mute
    case cut, restore
    case owner(OwnerOrder)
  }

  private let steps: [Step]
  /// The number of units of DATA after which the steps are not repeated.
  private let units: Int
  /// The number of times that the step must still be sent.
  private var timesLeft = 0
  /// The time that the previous step waited.
  private var waited: UInt64 = 0
  private let tolerance: UInt64
  private let begunAt: UInt64
  private(set) var index = 0
  private var isDone = false
  /// The time at which the previous step was done.
  private var doneAt: UInt64

  init(_ steps: [Step], units: Int = 0, tolerance: UInt64, at now: UInt64) {
    self.steps = steps
    self.units = units
    self.tolerance = tolerance
    begunAt = now
    doneAt = now
  }

  /// The text of the current step, or of the last one.
  var step: String { steps.isEmpty ? "" : steps[min(index, steps.count - 1)].text }

  /// Returns the next action; `nil` if the current step waits or there are no more steps.
  mutating func nextAction(sentUnits: Int, at now: UInt64) -> Action? {
    if index == steps.count {
      isDone = sentUnits >= units
      if isDone { return nil }
      index = 0
    }
    let action: Action
    switch steps[index].action {
    case .send(let transmission, let times):
      if timesLeft == 0 { timesLeft = times }
      timesLeft -= 1
      doneAt = now
      if timesLeft == 0 { index += 1 }
      return .send(transmission)
    case .mute: action = .mute
    case .cut: action = .cut
    case .restore: action = .restore
    case .owner(let order): action = .owner(order)
    case .expect, .refuse, .wait: return nil
    }
    index += 1
    doneAt = now
    return action
  }

  /// Adds the time that the bytes of the step need on the line.
  mutating func took(_ time: UInt64) { doneAt += time }

  /// Compares received frames and the time with the step. `nil` while the script continues.
  mutating func proceed(_ unread: inout [ReceivedFrame], _ testPeer: TestPeer, at now: UInt64) -> Outcome? {
    guard index < steps.count else { return isDone ? .passed : nil }
    switch steps[index].action {
    case .expect(let pattern, let isOnly, let isDoubled, let after, let within):
      // A pause of a second is not doubled again.
      let least = isDoubled && waited < Self.longestDoubled ? waited * 3 / 2 : 0
      return expect(
        pattern, isOnly, max(after * Self.millisecond, least), within, &unread, testPeer, at: now)
    case .refuse(let pattern, let time):
      while let received = unread.first {
        unread.removeFirst()
        if testPeer.matches(received, pattern) { return .failed("it sent: \(received.summary)") }
      }
      if now >= doneAt + time * Self.millisecond { done(at: now) }
    case .wait(let time):
      unread = []
      if now >= begunAt + time * Self.millisecond { done(at: now) }
    case .send, .mute, .cut, .restore, .owner: break
    }
    return nil
  }

  private mutating func expect(
    _ pattern: FramePattern, _ isOnly: Bool, _ after: UInt64, _ within: UInt64, _ unread: inout [ReceivedFrame],
    _ testPeer: TestPeer, at now: UInt64
  ) -> Outcome? {
    let earliest = doneAt + after
    let latest = doneAt + within * Self.millisecond + tolerance
    while let received = unread.first {
      unread.removeFirst()
      guard testPeer.matches(received, pattern) else {
        if isOnly, testPeer.isReaction(received.frame) { return .failed("it first sent: \(received.summary)") }
        continue
      }
      if pattern.kind == .ack, let rest = received.withoutAcknowledgement { unread.insert(rest, at: 0) }
      if received.at + tolerance < earliest { return .failed("it came after \(milliseconds(received.at)) ms") }
      if received.at > latest { return .failed("it came after \(milliseconds(received.at)) ms") }
      done(at: received.at)
      return nil
    }
    return now > latest ? .failed("it did not come") : nil
  }

  /// The time of the next check without a received frame.
  var deadline: UInt64? {
    guard index < steps.count else { return nil }
    switch steps[index].action {
    case .expect(_, _, _, _, let within): return doneAt + within * Self.millisecond + tolerance + 1
    case .refuse(_, let time): return doneAt + time * Self.millisecond
    case .wait(let time): return begunAt + time * Self.millisecond
    case .send, .mute, .cut, .restore, .owner: return begunAt
    }
  }

  private mutating func done(at time: UInt64) {
    index += 1
    waited = time - min(doneAt, time)
    doneAt = time
  }

  private static let longestDoubled: UInt64 = 550_000_000

  private func milliseconds(_ time: UInt64) -> UInt64 { (time - min(doneAt, time)) / Self.millisecond }

  private static let millisecond: UInt64 = 1_000_000
}
