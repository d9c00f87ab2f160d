import Byway
import BywayPrimitives
import NIOCore

/// Condenses many requests into few events: one when a user begins to use a device, one when the use ends, and repeated refusals
/// as a number. Time is an argument.
struct AuditAggregator {
  struct Limits {
    /// The time without a request after which the use of a device has ended.
    var idle = TimeAmount.minutes(5)
    /// The time in which refusals of one kind are counted together.
    var window = TimeAmount.seconds(60)
    /// The maximum number of uses at once, one for each user and device.
    var uses = 4096
    /// The number of uses that one user begins in a window and that are logged one by one.
    var begun = 64
    /// The maximum number of users that are counted in a window.
    var users = 4096
    /// The number of kinds of refusals for each reason. Further refusals are counted by their peer only, and after as many again
    /// all together.
    var refusals = 64
    /// The number of these kinds from one peer.
    var refusalsOfOne = 8
  }

  struct Use: Hashable {
    let name: UserName
    let resource: Resource
  }

  private struct Usage {
    let user: AuditEvent.User
    let since: NIODeadline
    var requests = 0
    var running = 0
    var last: NIODeadline
  }

  /// The uses that a user has begun in a window.
  private struct Begun {
    let since: NIODeadline
    var told = 0
    var untold = 0
  }

  private struct Refusals {
    let since: NIODeadline
    var untold = 0
  }

  private let limits: Limits
  private var uses: [Use: Usage] = [:]
  private var begun: [UserName: Begun] = [:]
  private var refusals: [AuditEvent.Refused: Refusals] = [:]
  private(set) var events: [AuditEvent] = []

  init(_ limits: Limits = Limits()) {
    self.limits = limits
  }

  /// Returns the events to be written, and removes them.
  mutating func take() -> [AuditEvent] {
    defer { events = [] }
    return events
  }

  mutating func began(_ use: Use, by proof: RequestUser.Proof, from peer: String, at now: NIODeadline) {
    if uses[use] == nil {
      guard mayTell(of: use.name, at: now) else { return }
      if uses.count >= limits.uses, let oldest = uses.min(by: { $0.value.last < $1.value.last })?.key {
        end(oldest, at: now)
      }
      let user = AuditEvent.User(name: use.name.text, proof: proof, peer: peer)
      uses[use] = Usage(user: user, since: now, last: now)
      events.append(.began(user, use.resource))
    }
    uses[use]?.requests += 1
    uses[use]?.running += 1
    uses[use]?.last = now
  }

  /// Whether another event of that user still fits into the window.
  private mutating func mayTell(of user: UserName, at now: NIODeadline) -> Bool {
    var entry = begun[user] ?? Begun(since: now)
    defer { begun[user] = entry }
    let fits = entry.told < limits.begun && (begun[user] != nil || begun.count < limits.users)
    if fits { entry.told += 1 } else { entry.untold += 1 }
    return fits
  }

  mutating func ended(_ use: Use, at now: NIODeadline) {
    guard let running = uses[use]?.running, running > 0 else { return }
    uses[use]?.running -= 1
    uses[use]?.last = now
  }

  /// - Parameter name: the name that the client sent.
  mutating func refused(
    _ reason: AuditEvent.Reason, _ name: String?, _ resource: Resource?, from peer: String, at now: NIODeadline
  ) {
    let shown = name.map { String($0.visible.unicodeScalars.prefix(UserName.maximumLength)) }
    for key in [
      AuditEvent.Refused(reason: reason, name: shown, resource: resource, peer: peer),
      .init(reason: reason, name: nil, resource: nil, peer: peer),
      .init(reason: reason, name: nil, resource: nil, peer: AuditEvent.Refused.various),
    ] {
      if refusals[key] != nil {
        refusals[key]?.untold += 1
        return
      }
      guard hasRoom(for: key) else { continue }
      refusals[key] = Refusals(since: now)
      events.append(.refused(key, times: 1))
      return
    }
  }

  /// Whether a refusal gets an entry of its own. Each reason and each peer has its own limit, so no client can hide behind a flood.
  private func hasRoom(for key: AuditEvent.Refused) -> Bool {
    if key.peer == AuditEvent.Refused.various { return true }
    let kinds = refusals.keys.filter { $0.reason == key.reason }
    if key.name == nil, key.resource == nil { return kinds.count < 2 * limits.refusals }
    return kinds.count < limits.refusals && kinds.count { $0.peer == key.peer } < limits.refusalsOfOne
  }

  /// Whether nothing depends on the passing of time.
  var isEmpty: Bool { uses.isEmpty && refusals.isEmpty && begun.isEmpty }

  mutating func timePassed(_ now: NIODeadline) {
    for (use, usage) in uses where usage.running == 0 && usage.last + limits.idle <= now { end(use, at: usage.last) }
    for (user, entry) in begun where entry.since + limits.window <= now {
      begun[user] = nil
      if entry.untold > 0 { events.append(.beganMore(name: user.text, times: entry.untold)) }
    }
    for (key, entry) in refusals where entry.since + limits.window <= now {
      refusals[key] = entry.untold > 0 ? Refusals(since: now) : nil
      if entry.untold > 0 { events.append(.refused(key, times: entry.untold)) }
    }
  }

  /// Ends all uses, and reports what has been counted.
  mutating func close(at now: NIODeadline) {
    for use in uses.keys { end(use, at: now) }
    for (key, entry) in refusals where entry.untold > 0 { events.append(.refused(key, times: entry.untold)) }
    refusals = [:]
    for (user, entry) in begun where entry.untold > 0 {
      events.append(.beganMore(name: user.text, times: entry.untold))
    }
    begun = [:]
  }

  private mutating func end(_ use: Use, at now: NIODeadline) {
    guard let usage = uses.removeValue(forKey: use) else { return }
    events.append(.ended(usage.user, use.resource, requests: usage.requests, after: now - usage.since))
  }
}
