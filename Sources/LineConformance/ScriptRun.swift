/// One script on its way: which step is next, and what it waits for. Times are nanoseconds.
struct ScriptRun: Sendable {
  enum Outcome: Sendable, Equatable {
    case passed
    /// Why, in a sentence.
    case failed(String)
  }

  /// What is to be done besides hearing.
  enum Deed: Sendable, Equatable {
    case say(Utterance)
    case mute
    case cut, restore
    case owner(OwnerOrder)
  }

  private let steps: [Step]
  private let tolerance: UInt64
  private let begunAt: UInt64
  private var index = 0
  /// When the step before was done.
  private var doneAt: UInt64

  init(_ steps: [Step], tolerance: UInt64, at now: UInt64) {
    self.steps = steps
    self.tolerance = tolerance
    begunAt = now
    doneAt = now
  }

  /// The step that is waited for, or was the last.
  var step: String { steps.isEmpty ? "" : steps[min(index, steps.count - 1)].text }

  /// The next thing to do now; `nil` where the next step waits, or there is none.
  mutating func nextDeed(at now: UInt64) -> Deed? {
    guard index < steps.count else { return nil }
    let deed: Deed
    switch steps[index].action {
    case .say(let utterance): deed = .say(utterance)
    case .mute: deed = .mute
    case .cut: deed = .cut
    case .restore: deed = .restore
    case .owner(let order): deed = .owner(order)
    case .expect, .refuse, .wait: return nil
    }
    index += 1
    doneAt = now
    return deed
  }

  /// What was said needs so long until the end has heard it.
  mutating func took(_ time: UInt64) { doneAt += time }

  /// Looks at what was heard and at the clock. `nil` while the script goes on.
  mutating func proceed(_ unread: inout [Heard], _ counterpart: Counterpart, at now: UInt64) -> Outcome? {
    guard index < steps.count else { return .passed }
    switch steps[index].action {
    case .expect(let pattern, let isOnly, let after, let within):
      return expect(pattern, isOnly, after, within, &unread, counterpart, at: now)
    case .refuse(let pattern, let time):
      while let heard = unread.first {
        unread.removeFirst()
        if counterpart.matches(heard, pattern) { return .failed("it said: \(heard.summary)") }
      }
      if now >= doneAt + time * Self.millisecond { done(at: now) }
    case .wait(let time):
      unread = []
      if now >= begunAt + time * Self.millisecond { done(at: now) }
    case .say, .mute, .cut, .restore, .owner: break
    }
    return nil
  }

  private mutating func expect(
    _ pattern: FramePattern, _ isOnly: Bool, _ after: UInt64, _ within: UInt64, _ unread: inout [Heard],
    _ counterpart: Counterpart, at now: UInt64
  ) -> Outcome? {
    let earliest = doneAt + after * Self.millisecond
    let latest = doneAt + within * Self.millisecond + tolerance
    while let heard = unread.first {
      unread.removeFirst()
      guard counterpart.matches(heard, pattern) else {
        if isOnly, counterpart.isWord(heard.frame) { return .failed("it said first: \(heard.summary)") }
        continue
      }
      if pattern.kind == .ack, let rest = heard.withoutAcknowledgement { unread.insert(rest, at: 0) }
      if heard.at + tolerance < earliest { return .failed("it came after \(milliseconds(heard.at)) ms") }
      if heard.at > latest { return .failed("it came after \(milliseconds(heard.at)) ms") }
      done(at: heard.at)
      return nil
    }
    return now > latest ? .failed("it did not come") : nil
  }

  /// When to look at the clock again.
  var deadline: UInt64? {
    guard index < steps.count else { return nil }
    switch steps[index].action {
    case .expect(_, _, _, let within): return doneAt + within * Self.millisecond + tolerance + 1
    case .refuse(_, let time): return doneAt + time * Self.millisecond
    case .wait(let time): return begunAt + time * Self.millisecond
    case .say, .mute, .cut, .restore, .owner: return begunAt
    }
  }

  var isDone: Bool { index == steps.count }

  private mutating func done(at time: UInt64) {
    index += 1
    doneAt = time
  }

  private func milliseconds(_ time: UInt64) -> UInt64 { (time - min(doneAt, time)) / Self.millisecond }

  private static let millisecond: UInt64 = 1_000_000
}
