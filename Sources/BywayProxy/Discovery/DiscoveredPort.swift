import Byway
import NIOCore

/// A port that is watched, and what is known of the device behind it. Part of ``DiscoveredPorts``, without I/O or clock.
struct DiscoveredPort {
  /// A gateway may start later than its device: a board boots for half a minute. To be opened resets some boards, so there are no more
  /// than these.
  private static let pauses: [TimeAmount] = [.seconds(15), .seconds(45)]
  /// What flaps is not asked each time.
  private static let shortestPause = TimeAmount.seconds(2)
  static let awayTime = TimeAmount.seconds(60)

  enum State {
    /// Plugged in.
    case here(Asking)
    case obstructed(String)
    case away(since: NIODeadline)
  }

  enum Asking {
    /// That many times it has not answered.
    case due(at: NIODeadline, silences: Int)
    case running(DiscoveredPorts.Question, silences: Int)
    /// It has answered, or was asked often enough.
    case over
  }

  private(set) var port: LinkPort
  private(set) var state: State
  /// Of the device that is or was here. A device that restarts, or is plugged in again, is silent for a while and keeps its name.
  private(set) var claim: DeviceClaim?
  /// Its first question is answered, or will not be asked: others get to see it.
  private(set) var isKnown = false
  private var lastAsked: NIODeadline?

  init(_ port: LinkPort, at now: NIODeadline) {
    self.port = port
    state = .away(since: now)
    appear(as: port, at: now)
  }

  var isHere: Bool { if case .away = state { false } else { true } }

  /// The same device file, and the same device in it, as far as it tells. Its address changes where another of its kind is plugged in.
  func isStill(_ other: LinkPort) -> Bool {
    isHere && port.device == other.device && port.name == other.name
  }

  /// It is on the list.
  mutating func appear(as other: LinkPort, at now: NIODeadline) {
    let isSame = isStill(other)
    // Another one in its place, or of another kind, has not claimed anything yet.
    if isHere && !isSame || port.name != other.name {
      claim = nil
      isKnown = false
    }
    port = other
    if let obstacle = other.obstacle {
      state = .obstructed(obstacle)
      isKnown = true
      return
    }
    if case .here = state, isSame { return }
    let earliest = lastAsked.map { $0 + Self.shortestPause } ?? now
    state = .here(.due(at: max(now, earliest), silences: 0))
  }

  /// It is on the list no longer.
  mutating func vanish(at now: NIODeadline) {
    if isHere { state = .away(since: now) }
  }

  /// When something happens by itself.
  var deadline: NIODeadline? {
    switch state {
    case .here(.due(let time, _)): time
    case .away(let since): since + Self.awayTime
    case .here, .obstructed: nil
    }
  }

  func isDue(at now: NIODeadline) -> Bool {
    if case .here(.due(let time, _)) = state { time <= now } else { false }
  }

  func isOver(at now: NIODeadline) -> Bool {
    if case .away(let since) = state { since + Self.awayTime <= now } else { false }
  }

  mutating func ask(_ question: DiscoveredPorts.Question, at now: NIODeadline) {
    guard case .here(.due(_, let silences)) = state else { return }
    lastAsked = now
    state = .here(.running(question, silences: silences))
  }

  /// An answer to a question that it is no longer asked does not count: it may be somebody else's.
  mutating func take(_ answer: DeviceClaim?, to question: DiscoveredPorts.Question, at now: NIODeadline) {
    guard case .here(.running(question, let silences)) = state else { return }
    isKnown = true
    if let answer {
      claim = answer
      state = .here(.over)
    } else {
      guard silences < Self.pauses.count else {
        // Who was here is not who is.
        claim = nil
        return state = .here(.over)
      }
      state = .here(.due(at: now + Self.pauses[silences], silences: silences + 1))
    }
  }
}
