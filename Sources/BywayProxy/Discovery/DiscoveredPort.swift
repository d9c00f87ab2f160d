import Byway
import BywayDevices
import NIOCore

/// A watched port, and what is known about the device behind it. Part of ``DiscoveredPorts``, without I/O or clock.
struct DiscoveredPort {
  /// The pauses before another question. A gateway may start later than its device: a board may take 30 s to boot. Opening the port
  /// resets some boards, so there are no further questions.
  private static let pauses: [TimeAmount] = [.seconds(15), .seconds(45)]
  /// The minimum time between two questions, for a port that comes and goes repeatedly.
  private static let shortestPause = TimeAmount.seconds(2)
  static let awayTime = TimeAmount.seconds(60)
  /// The time after which a port is published, even if its device has not answered. A gateway that runs answers sooner.
  private static let unansweredTime = TimeAmount.milliseconds(1500)

  enum State {
    /// Plugged in.
    case here(Asking)
    case unavailable(String)
    case away(since: NIODeadline)
  }

  enum Asking {
    /// A question is due; `silences` counts the questions without an answer.
    case due(at: NIODeadline, silences: Int)
    case running(DiscoveredPorts.Question, silences: Int)
    /// The device has answered, or has been asked often enough.
    case over
  }

  private(set) var port: LinkPort
  private(set) var state: State
  /// The claim of the device that is or was here. A device that restarts, or is plugged in again, is silent for a while and keeps its
  /// name.
  private(set) var claim: DeviceClaim?
  /// Whether the device is published: its first question has been answered or has failed, will not be asked, or takes long.
  private(set) var isKnown = false
  private var appeared: NIODeadline
  private var lastAsked: NIODeadline?

  init(_ port: LinkPort, at now: NIODeadline) {
    self.port = port
    state = .away(since: now)
    appeared = now
    appear(as: port, at: now)
  }

  var isHere: Bool { if case .away = state { false } else { true } }

  /// Whether a listed port is the one that is here: the same device file and, as far as known, the same device. Its address changes
  /// when another device of its kind is plugged in.
  func isStill(_ other: LinkPort) -> Bool {
    isHere && port.device == other.device && port.name == other.name
  }

  /// Updates the port, which is in the list.
  mutating func appear(as other: LinkPort, at now: NIODeadline) {
    let isSame = isStill(other)
    // Another device in its place, or of another kind, has not claimed a name yet.
    if isHere && !isSame || port.name != other.name {
      claim = nil
      isKnown = false
    }
    port = other
    if let unavailableReason = other.unavailableReason {
      state = .unavailable(unavailableReason)
      isKnown = true
      return
    }
    if case .here = state, isSame { return }
    appeared = now
    let earliest = lastAsked.map { $0 + Self.shortestPause } ?? now
    state = .here(.due(at: max(now, earliest), silences: 0))
  }

  /// Marks the port as away: it is no longer in the list.
  mutating func vanish(at now: NIODeadline) {
    if isHere { state = .away(since: now) }
  }

  /// Publishes the port if its device has been silent for too long.
  mutating func advance(to now: NIODeadline) {
    if isHere, now >= appeared + Self.unansweredTime { isKnown = true }
  }

  /// The time of the next event that needs no input.
  var deadline: NIODeadline? {
    let publication = isKnown ? nil : appeared + Self.unansweredTime
    return switch state {
    case .here(.due(let time, _)): min(time, publication ?? time)
    case .away(let since): since + Self.awayTime
    case .here: publication
    case .unavailable: nil
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

  /// Takes an answer. An answer to an outdated question is ignored: it may come from another device.
  mutating func take(_ answer: DeviceClaim?, to question: DiscoveredPorts.Question, at now: NIODeadline) {
    guard case .here(.running(question, let silences)) = state else { return }
    isKnown = true
    if let answer {
      claim = answer
      state = .here(.over)
    } else {
      guard silences < Self.pauses.count else {
        // The device here is not the one that made the claim.
        claim = nil
        return state = .here(.over)
      }
      state = .here(.due(at: now + Self.pauses[silences], silences: silences + 1))
    }
  }
}
