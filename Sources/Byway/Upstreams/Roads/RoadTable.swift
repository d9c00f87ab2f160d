import NIOCore

/// What is known of the roads to one place, the better one first, and which of them is to be tried next.
///
/// Only decides: time and chance are arguments.
struct RoadTable {
  /// How long a road that opens may be silent, and how long it is tried alone.
  static let headStart = TimeAmount.seconds(2)
  /// The same for one that came to nothing the last time.
  private static let headStartOfSuspects = TimeAmount.milliseconds(250)
  /// Between two tries of a road that is down. They grow with the time that it has been down, so that the way back is never
  /// late by more than a fraction of that.
  private static let pauses = (shortest: TimeAmount.seconds(2), longest: TimeAmount.seconds(30), share: Int64(4))
  /// How long a better road must be well before it takes over: longer each time that it has failed soon after that.
  private static let trials = (shortest: TimeAmount.seconds(3), longest: TimeAmount.minutes(5))
  /// Soon is within so many times that.
  private static let soon: Int64 = 10

  /// How long a line may be interrupted where there is another road.
  static let patienceWithLines = TimeAmount.seconds(1)

  private struct Road {
    var state = RoadStatus.State.standingBy
    var since: NIODeadline
    /// Others are tried first until then.
    var shunnedUntil = NIODeadline.uptimeNanoseconds(0)
    var trial = trials.shortest
    /// It has passed its last trial, and has not failed since.
    var isOnProbation = false
  }

  private var roads: [Road]

  init(count: Int, at now: NIODeadline) {
    roads = Array(repeating: Road(since: now), count: count)
  }

  func state(of road: Int) -> (RoadStatus.State, since: NIODeadline) { (roads[road].state, roads[road].since) }

  /// Why each is down that is.
  var failures: [(road: Int, error: BywayError)] {
    roads.indices.compactMap { road in
      if case .down(let error) = roads[road].state { (road, error) } else { nil }
    }
  }

  /// The best that requests take.
  var current: Int? {
    roads.firstIndex {
      if case .up = $0.state { true } else { false }
    }
  }

  // MARK: Which one is next

  /// The best of those that are left: first without those that have just failed.
  func next(without tried: Set<Int>, at now: NIODeadline) -> Int? {
    let left = roads.indices.filter { !tried.contains($0) }
    return left.first { roads[$0].shunnedUntil <= now } ?? left.first
  }

  /// Which one is tried while others still are: besides one that nothing is known against, none that is down. That may open at
  /// once and be silent, and would take the place of one that only takes its time.
  func next(besides running: Set<Int>, without tried: Set<Int>, at now: NIODeadline) -> Int? {
    if running.allSatisfy(isDown) { return next(without: tried, at: now) }
    return roads.indices.first { !tried.contains($0) && !isDown($0) }
  }

  private func isDown(_ road: Int) -> Bool {
    if case .down = roads[road].state { true } else { false }
  }

  /// How long it is tried before the next one is, too.
  func headStart(of road: Int) -> TimeAmount {
    isDown(road) ? Self.headStartOfSuspects : Self.headStart
  }

  /// Which road is worth a try while a lesser one is in use, and when.
  func nextTrial(betterThan current: Int) -> (road: Int, at: NIODeadline)? {
    roads.indices.prefix(current).map { ($0, roads[$0].shunnedUntil) }.min { $0.1 < $1.1 }
  }

  /// How long it must be well until it takes over.
  func trial(of road: Int) -> TimeAmount { roads[road].trial }

  // MARK: What became of them

  /// New requests take it from now on.
  mutating func taken(_ road: Int, at now: NIODeadline) {
    for other in roads.indices where other != road { left(other, at: now) }
    set(road, .up, at: now)
  }

  /// It was well for as long as its trial takes.
  mutating func passed(_ road: Int) {
    roads[road].isOnProbation = true
  }

  /// It opens, but is not needed.
  mutating func works(_ road: Int, at now: NIODeadline) {
    if case .down = roads[road].state { set(road, .standingBy, at: now) }
    roads[road].shunnedUntil = now
  }

  /// Its connection has ended in good order, or another road is better.
  mutating func left(_ road: Int, at now: NIODeadline) {
    guard case .up = roads[road].state else { return }
    set(road, .standingBy, at: now)
  }

  /// A try came to nothing, or the connection over it was lost.
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
    // A quarter is chance: clients of one gateway do not return in step.
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
