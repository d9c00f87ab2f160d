import NIOCore

/// The known state of the links to one target, the best one first, and the choice of the next one to try.
///
/// A pure decision: time and random numbers are arguments.
struct RoadTable {
  /// How long a link may be silent after it opens, and how long it is tried before the next one is tried too.
  static let headStart = TimeAmount.seconds(2)
  /// The same for a link whose last attempt failed.
  private static let headStartOfSuspects = TimeAmount.milliseconds(250)
  /// The pause between two attempts on a link that is down. It grows with the time that the link has been down, so that its return is
  /// detected late by at most a fraction of that time.
  private static let pauses = (shortest: TimeAmount.seconds(2), longest: TimeAmount.seconds(30), share: Int64(4))
  /// How long a better link must work before it takes over. Doubles each time that the link fails soon after it has taken over.
  private static let trials = (shortest: TimeAmount.seconds(3), longest: TimeAmount.minutes(5))
  /// A failure within this multiple of the trial time counts as soon.
  private static let soon: Int64 = 10

  /// How long a line may be interrupted where there is another link.
  static let patienceWithLines = TimeAmount.seconds(1)

  private struct Road {
    var state = RoadStatus.State.standingBy
    var since: NIODeadline
    /// The time until which other links are tried first.
    var shunnedUntil = NIODeadline.uptimeNanoseconds(0)
    var trial = trials.shortest
    /// Whether it has passed its last trial, and has not failed since.
    var isOnProbation = false
  }

  private var roads: [Road]

  init(count: Int, at now: NIODeadline) {
    roads = Array(repeating: Road(since: now), count: count)
  }

  func state(of road: Int) -> (RoadStatus.State, since: NIODeadline) { (roads[road].state, roads[road].since) }

  /// The errors of the links that are down.
  var failures: [(road: Int, error: BywayError)] {
    roads.indices.compactMap { road in
      if case .down(let error) = roads[road].state { (road, error) } else { nil }
    }
  }

  /// The best link that is in use.
  var current: Int? {
    roads.firstIndex {
      if case .up = $0.state { true } else { false }
    }
  }

  // MARK: The choice of the next link

  /// Returns the best link that is left; links that have not failed recently come first.
  func next(without tried: Set<Int>, at now: NIODeadline) -> Int? {
    let left = roads.indices.filter { !tried.contains($0) }
    return left.first { roads[$0].shunnedUntil <= now } ?? left.first
  }

  /// Returns the link to try next while others are still being tried. If one of those has no known failure, links that are down are left
  /// out: such a link may open at once and then be silent, and would win over one that is only slow.
  func next(besides running: Set<Int>, without tried: Set<Int>, at now: NIODeadline) -> Int? {
    if running.allSatisfy(isDown) { return next(without: tried, at: now) }
    return roads.indices.first { !tried.contains($0) && !isDown($0) }
  }

  private func isDown(_ road: Int) -> Bool {
    if case .down = roads[road].state { true } else { false }
  }

  /// How long it is tried before the next one is tried too.
  func headStart(of road: Int) -> TimeAmount {
    isDown(road) ? Self.headStartOfSuspects : Self.headStart
  }

  /// Returns the better link to test while a lesser one is in use, and when.
  func nextTrial(betterThan current: Int) -> (road: Int, at: NIODeadline)? {
    roads.indices.prefix(current).map { ($0, roads[$0].shunnedUntil) }.min { $0.1 < $1.1 }
  }

  /// How long it must work before it takes over.
  func trial(of road: Int) -> TimeAmount { roads[road].trial }

  // MARK: Results

  /// New requests take it from now on.
  mutating func taken(_ road: Int, at now: NIODeadline) {
    for other in roads.indices where other != road { left(other, at: now) }
    set(road, .up, at: now)
  }

  /// It has passed its trial.
  mutating func passed(_ road: Int) {
    roads[road].isOnProbation = true
  }

  /// It opens, but is not needed.
  mutating func works(_ road: Int, at now: NIODeadline) {
    if case .down = roads[road].state { set(road, .standingBy, at: now) }
    roads[road].shunnedUntil = now
  }

  /// Its connection has ended normally, or a better link is in use.
  mutating func left(_ road: Int, at now: NIODeadline) {
    guard case .up = roads[road].state else { return }
    set(road, .standingBy, at: now)
  }

  /// An attempt has failed, or the connection over it was lost.
  /// - Parameter fraction: a random number from 0 to 1.
  mutating func failed(_ road: Int, _ error: BywayError, at now: NIODeadline, fraction: Double) {
    var since = now
    switch roads[road].state {
    case .up: judge(road, upFor: now - roads[road].since)
    case .standingBy: break
    case .down: since = roads[road].since
    }
    set(road, .down(error), at: since)
    let share = (now - since).nanoseconds / Self.pauses.share
    let pause = min(max(share, Self.pauses.shortest.nanoseconds), Self.pauses.longest.nanoseconds)
    // A quarter is random, so that the clients of one gateway do not retry in step.
    let certain = pause / 4 * 3
    roads[road].shunnedUntil = now + .nanoseconds(certain + Int64(Double(pause - certain) * min(max(fraction, 0), 1)))
  }

  private mutating func judge(_ road: Int, upFor time: TimeAmount) {
    let trial = roads[road].trial.nanoseconds
    if time.nanoseconds >= trial * Self.soon {
      roads[road].trial = Self.trials.shortest
    } else if roads[road].isOnProbation {
      roads[road].trial = .nanoseconds(min(trial * 2, Self.trials.longest.nanoseconds))
    }
    roads[road].isOnProbation = false
  }

  private mutating func set(_ road: Int, _ state: RoadStatus.State, at now: NIODeadline) {
    roads[road].state = state
    roads[road].since = now
  }
}
