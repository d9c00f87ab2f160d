import Byway
import BywayLineLayer
import BywayPrimitives

/// The history of links over the last minutes. A value without clock.
struct LinkHistory: Sendable {
  private static let linkLimit = 256
  private static let sampleLimit = 300
  private static let eventLimit = 200
  private static let sayingLimit = 200

  /// The counters of one second.
  struct Sample: Sendable, Hashable {
    /// The end of the second, in milliseconds since 1970.
    let time: Double
    var sent: UInt64 = 0
    var received: UInt64 = 0
    var sentFrames: UInt64 = 0
    var repeatedFrames: UInt64 = 0
    var damagedFrames: UInt64 = 0
    var foreignBytes: UInt64 = 0
    var running = 0
  }

  struct Event: Sendable, Hashable {
    enum Kind: String, Sendable {
      case opened, interrupted, resumed, closed, lost, failed
    }

    let time: Double
    let kind: Kind
    let reason: String?
  }

  /// Text that another program has sent on the line since the previous check.
  struct Saying: Sendable, Hashable {
    let time: Double
    let text: String
  }

  struct Entry: Sendable {
    var snapshot: LinkSnapshot
    /// Increases with each change of any link.
    var version: UInt64
    var samples: [Sample] = []
    var events: [Event] = []
    var sayings: [Saying] = []
  }

  private(set) var version: UInt64 = 0
  /// The links, in the order of the last check.
  private(set) var entries: [Entry] = []

  /// Records the state of all links, and removes links that no longer exist.
  /// - Parameter time: in milliseconds since 1970.
  mutating func look(_ snapshots: [LinkSnapshot], at time: Double) {
    let known = Dictionary(entries.map { ($0.snapshot.key, $0) }) { first, _ in first }
    let next = snapshots.prefix(Self.linkLimit).map { snapshot in
      guard var entry = known[snapshot.key] else {
        version += 1
        let saying = Saying(from: nil, to: snapshot, at: time)
        return Entry(snapshot: snapshot, version: version, sayings: saying.map { [$0] } ?? [])
      }
      let sample = Sample(from: entry.snapshot, to: snapshot, at: time)
      let event = Event(from: entry.snapshot, to: snapshot, at: time)
      let saying = Saying(from: entry.snapshot, to: snapshot, at: time)
      let isSame =
        sample == nil && event == nil && saying == nil && entry.snapshot.running == snapshot.running
        && entry.snapshot.upstream == snapshot.upstream
      entry.snapshot = snapshot
      if isSame { return entry }
      version += 1
      entry.version = version
      if let sample { entry.samples.append(sample) }
      if let event { entry.events.append(event) }
      if let saying { entry.sayings.append(saying) }
      if entry.sayings.count > Self.sayingLimit { entry.sayings.removeFirst() }
      if entry.samples.count > Self.sampleLimit { entry.samples.removeFirst() }
      if entry.events.count > Self.eventLimit { entry.events.removeFirst() }
      return entry
    }
    if next.count != entries.count { version += 1 }
    entries = next
  }
}

extension LinkSnapshot {
  /// The key that identifies a link in later checks.
  fileprivate var key: [String] { [name, address] }
}

extension LinkHistory.Sample {
  /// `nil` if the counters have not changed, and no exchange runs.
  fileprivate init?(from before: LinkSnapshot, to now: LinkSnapshot, at time: Double) {
    self.time = time
    running = now.running
    let line = now.line ?? before.line ?? LineStatistics()
    // A new connection counts from the beginning.
    let last = before.line.flatMap { $0.sentBytes <= line.sentBytes ? $0 : nil } ?? LineStatistics()
    sent = line.sentBytes &- last.sentBytes
    received = line.receivedBytes &- last.receivedBytes
    sentFrames = line.sentFrames &- last.sentFrames
    repeatedFrames = line.repeatedFrames &- last.repeatedFrames
    damagedFrames = line.damagedFrames &- last.damagedFrames
    foreignBytes = line.foreignBytes &- last.foreignBytes
    if sent == 0, received == 0, running == 0 { return nil }
  }
}

extension LinkHistory.Saying {
  /// `nil` if there is no new text.
  fileprivate init?(from before: LinkSnapshot?, to now: LinkSnapshot, at time: Double) {
    guard let said = now.line?.foreignText else { return nil }
    let known = before?.line?.foreignText.count ?? 0
    let new = said.since(known > said.count ? 0 : known)
    if new.isEmpty { return nil }
    self.time = time
    text = String(decoding: new, as: UTF8.self)
  }
}

extension LinkHistory.Event {
  /// `nil` if the change of state is no event.
  fileprivate init?(from before: LinkSnapshot, to now: LinkSnapshot, at time: Double) {
    guard before.state != now.state else { return nil }
    self.time = time
    reason = now.reason
    switch (before.state, now.state) {
    case ("interrupted", "up"): kind = .resumed
    case (_, "up"): kind = .opened
    case (_, "interrupted"): kind = .interrupted
    case ("up", "down"), ("interrupted", "down"), ("up", "refused"), ("interrupted", "refused"): kind = .lost
    case (_, "down"), (_, "refused"): kind = .failed
    case ("up", "closed"), ("up", "waiting"), ("interrupted", "closed"): kind = .closed
    default: return nil
    }
  }
}

// MARK: JSON: docs/inspector.md

extension LinkHistory.Entry {
  /// - Parameter time: only later samples and events are included; `nil`: all are.
  func json(after time: Double? = nil) -> JSON {
    let time = time ?? 0
    return [
      "name": .string(snapshot.name), "address": .string(snapshot.address),
      "upstream": snapshot.upstream.map { .string($0) }, "state": .string(snapshot.state),
      "since": snapshot.since.map { .number(Double($0) * 1_000) }, "reason": snapshot.reason.map { .string($0) },
      "running": .number(snapshot.running), "openings": snapshot.openings.map { .number($0) },
      "losses": snapshot.losses.map { .number($0) }, "line": snapshot.line.map(\.json),
      "samples": .array(samples.filter { $0.time > time }.map(\.json)),
      "events": .array(events.filter { $0.time > time }.map(\.json)),
      "said": sayings.isEmpty
        ? nil
        : .array(sayings.filter { $0.time > time }.map { ["at": .number($0.time), "text": .string($0.text)] }),
    ]
  }
}

extension LinkHistory.Sample {
  fileprivate var json: JSON {
    .array([
      .number(time), .number(sent), .number(received), .number(sentFrames), .number(repeatedFrames),
      .number(damagedFrames), .number(foreignBytes), .number(running),
    ])
  }
}

extension LinkHistory.Event {
  fileprivate var json: JSON {
    ["at": .number(time), "kind": .string(kind.rawValue), "reason": reason.map { .string($0) }]
  }
}

extension LineStatistics {
  fileprivate var json: JSON {
    [
      "nominal": nominalRate.map { .number($0) }, "rate": rate.map { .number($0) },
      "roundTrip": roundTrip.map { .number(Double($0) / 1_000_000) }, "sent": .number(sentBytes),
      "received": .number(receivedBytes), "framesSent": .number(sentFrames), "framesAgain": .number(repeatedFrames),
      "framesReceived": .number(receivedFrames), "damaged": .number(damagedFrames), "refused": .number(refusedFrames),
      "foreign": .number(foreignBytes), "resumes": .number(resumes), "frameSize": .number(framePayload),
      "errorsPerMillion": errors.map { .number($0.perMillionBytes) },
    ]
  }
}
