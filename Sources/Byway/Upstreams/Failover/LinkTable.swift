import NIOCore

/// The known state of the links to one target, the best one first, and the choice of the next one to try.
///
/// A pure decision: time and random numbers are arguments.
struct LinkTable {
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

  private struct Entry {
    var state = LinkStatus.State.standingBy
    var since: NIODeadline
    /// The time until which other links are tried first.
    var shunnedUntil = NIODeadline.uptimeNanoseconds(0)
    var trial = trials.shortest
    /// Whether it has passed its last trial, and has not failed since.
    var isOnProbation = false
  }

  private var links: [Entry]

  init(count: Int, at now: NIODeadline) {
    links = Array(repeating: Entry(since: now), count: count)
  }

  func state(of link: Int) -> (LinkStatus.State, since: NIODeadline) { (links[link].state, links[link].since) }

  /// Whether new requests take it.
  func isUp(_ link: Int) -> Bool {
    if case .up = links[link].state { true } else { false }
  }

  /// The errors of the links that are down.
  var failures: [(link: Int, error: BywayError)] {
    links.indices.compactMap { link in
      if case .down(let error) = links[link].state { (link, error) } else { nil }
    }
  }

  /// The best link that is in use.
  var current: Int? {
    links.firstIndex {
      if case .up = $0.state { true } else { false }
    }
  }

  // MARK: The choice of the next link

  /// Returns the best link that is left; links that have not failed recently come first.
  func next(without tried: Set<Int>, at now: NIODeadline) -> Int? {
    let left = links.indices.filter { !tried.contains($0) }
    return left.first { links[$0].shunnedUntil <= now } ?? left.first
  }

  /// Returns the link to try next while others are still being tried. If one of those has no known failure, links that are down are left
  /// out: such a link may open at once and then be silent, and would win over one that is only slow.
  func next(besides running: Set<Int>, without tried: Set<Int>, at now: NIODeadline) -> Int? {
    if running.allSatisfy(isDown) { return next(without: tried, at: now) }
    return links.indices.first { !tried.contains($0) && !isDown($0) }
  }

  private func isDown(_ link: Int) -> Bool {
    if case .down = links[link].state { true } else { false }
  }

  /// How long it is tried before the next one is tried too.
  func headStart(of link: Int) -> TimeAmount {
    isDown(link) ? Self.headStartOfSuspects : Self.headStart
  }

  /// Returns the better link to test while a lesser one is in use, and when.
  func nextTrial(betterThan current: Int) -> (link: Int, at: NIODeadline)? {
    links.indices.prefix(current).map { ($0, links[$0].shunnedUntil) }.min { $0.1 < $1.1 }
  }

  /// How long it must work before it takes over.
  func trial(of link: Int) -> TimeAmount { links[link].trial }

  // MARK: Results

  /// New requests take it from now on.
  mutating func taken(_ link: Int, at now: NIODeadline) {
    for other in links.indices where other != link { left(other, at: now) }
    set(link, .up, at: now)
  }

  /// It has passed its trial.
  mutating func passed(_ link: Int) {
    links[link].isOnProbation = true
  }

  /// It opens, but is not needed.
  mutating func works(_ link: Int, at now: NIODeadline) {
    if case .down = links[link].state { set(link, .standingBy, at: now) }
    links[link].shunnedUntil = now
  }

  /// Its connection has ended normally, or a better link is in use.
  mutating func left(_ link: Int, at now: NIODeadline) {
    guard case .up = links[link].state else { return }
    set(link, .standingBy, at: now)
  }

  /// An attempt has failed, or the connection over it was lost.
  /// - Parameter fraction: a random number from 0 to 1.
  mutating func failed(_ link: Int, _ error: BywayError, at now: NIODeadline, fraction: Double) {
    var since = now
    switch links[link].state {
    case .up: judge(link, upFor: now - links[link].since)
    case .standingBy: break
    case .down: since = links[link].since
    }
    set(link, .down(error), at: since)
    let share = (now - since).nanoseconds / Self.pauses.share
    let pause = min(max(share, Self.pauses.shortest.nanoseconds), Self.pauses.longest.nanoseconds)
    // A quarter is random, so that the clients of one gateway do not retry in step.
    let certain = pause / 4 * 3
    links[link].shunnedUntil = now + .nanoseconds(certain + Int64(Double(pause - certain) * min(max(fraction, 0), 1)))
  }

  private mutating func judge(_ link: Int, upFor time: TimeAmount) {
    let trial = links[link].trial.nanoseconds
    if time.nanoseconds >= trial * Self.soon {
      links[link].trial = Self.trials.shortest
    } else if links[link].isOnProbation {
      links[link].trial = .nanoseconds(min(trial * 2, Self.trials.longest.nanoseconds))
    }
    links[link].isOnProbation = false
  }

  private mutating func set(_ link: Int, _ state: LinkStatus.State, at now: NIODeadline) {
    links[link].state = state
    links[link].since = now
  }
}
