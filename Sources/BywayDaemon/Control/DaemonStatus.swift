import Byway
import BywayDaemonProcess
import BywayDevices
import BywayLineLayer
import BywayPlugins
import BywayPrimitives
import NIOCore

/// A daemon's status, for users who may also stop it. Only ``inspector`` is secret; addresses come without their options.
package struct DaemonStatus: Sendable {
  /// A link, or the connection to an origin.
  package struct Link: Sendable {
    enum State: Sendable, Hashable {
      case link(LinkState)
      /// Ready as one of several links to a device, and not needed. No fault of it is known.
      case standingBy
      /// This end dials, and the other end does not want the link.
      case refused
      // Of origins.
      case unknown, reachable, unreachable

      var text: String {
        switch self {
        case .link(let state): state.rawValue
        case .standingBy: "standingBy"
        case .refused: "refused"
        case .unknown: "unknown"
        case .reachable: "reachable"
        case .unreachable: "unreachable"
        }
      }
    }

    let name: String
    /// The device at its other end; `nil` if that has no name.
    var device: String?
    /// Its name in the records of exchanges, for the inspector; `nil` before it is used, and at a gateway.
    var upstream: String?
    let state: State
    /// Seconds since 1970.
    var since: Int?
    var reason: String?
    /// Nanoseconds.
    var roundTrip: Int?
    var line: LineStatistics?
    /// `nil` if this end does not open it.
    var counts: LinkCounts?
    /// The connections that this end opens.
    var connections = UpstreamStatus.Connections()
    /// The links of a device that has several, the better one first.
    var links: [Link] = []

    /// The links of a device that has several, or else this one.
    var all: [Link] { links.isEmpty ? [self] : links }
  }

  /// A gateway or proxy of the daemon.
  package struct Member: Sendable {
    /// Empty if it has no section of its own.
    let name: String
    let listens: [String]
    package let links: [Link]
    let origins: [Link]
    /// Empty at a gateway.
    var hubs: [HubReport] = []
  }

  struct Requests: Sendable {
    var running = 0
    var done = 0
    /// Failed requests by the kind of failure.
    var failed: [String: Int] = [:]
  }

  /// The memory that the daemon holds on behalf of peers.
  struct Held: Sendable {
    var bytes: Int
    var limit: Int
    /// Exchanges that were aborted because of the limit.
    var refused: Int

    init(_ budget: MemoryBudget) {
      (bytes, limit, refused) = (budget.held, budget.limit, budget.refused)
    }
  }

  let name: String
  let kind: String
  /// Whether it accepts no more requests and completes the running ones.
  let isStopping: Bool
  let processID: Int
  let since: Int
  let configuration: String?
  /// The time and the result of the last reload; `nil` if there was none.
  let reload: (at: Int, result: ReloadResult)?
  let members: [Member]
  let plugins: [PluginStatus]
  let requests: Requests
  let memoryBytes: Int?
  let held: Held
  let descriptors: Int?
  /// The inspector's URL, including the secret that allows actions.
  let inspector: String?
}

// MARK: As JSON: docs/status.schema.json

extension DaemonStatus {
  var json: JSON {
    [
      "schema": 1, "name": .string(name), "kind": .string(kind), "version": .string(Release.version),
      "state": isStopping ? "stopping" : "running", "processID": .number(processID), "since": .time(since),
      "configuration": configuration.map { .string($0) },
      "reload": reload.map { reload in
        switch reload.result {
        case .done(atStart: _): ["at": .time(reload.at), "result": "done"]
        case .refused(let failures):
          ["at": .time(reload.at), "result": "refused", "reason": .string(failures.lines)]
        }
      },
      "members": .array(members.map(\.json)), "plugins": plugins.isEmpty ? nil : .array(plugins.map(\.json)),
      "requests": requests.json,
      "memoryBytes": memoryBytes.map { .number($0) },
      "held": ["bytes": .number(held.bytes), "limitBytes": .number(held.limit), "refused": .number(held.refused)],
      "descriptors": descriptors.map { .number($0) },
      "inspector": inspector.map { .string($0) },
    ]
  }
}

extension DaemonStatus.Member {
  fileprivate var json: JSON {
    [
      "name": .string(name), "listens": .array(listens.map { .string($0) }), "links": .array(links.map(\.json)),
      "origins": .array(origins.map(\.json)), "hubs": hubs.isEmpty ? nil : .array(hubs.map(\.json)),
    ]
  }
}

extension DaemonStatus.Requests {
  fileprivate var json: JSON {
    let kinds = failed.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .number($0.value)) }
    return ["running": .number(running), "done": .number(done), "failed": .object(kinds)]
  }
}

extension DaemonStatus.Link {
  fileprivate var json: JSON {
    [
      "name": .string(name), "device": device.map { .string($0) }, "state": .string(state.text),
      "since": since.map { .time($0) },
      "reason": reason.map { .string($0) }, "roundTripNanoseconds": roundTrip.map { .number($0) },
      "line": line.map(\.json), "links": links.isEmpty ? nil : .array(links.map(\.json)),
    ]
  }
}

extension LineStatistics {
  fileprivate var json: JSON {
    [
      "roundTripNanoseconds": roundTrip.map { .number($0) }, "bytesPerSecond": rate.map { .number($0) },
      "nominalBytesPerSecond": nominalRate.map { .number($0) }, "sentBytes": .number(sentBytes),
      "receivedBytes": .number(receivedBytes), "sentFrames": .number(sentFrames),
      "repeatedFrames": .number(repeatedFrames), "receivedFrames": .number(receivedFrames),
      "damagedFrames": .number(damagedFrames), "duplicateFrames": .number(duplicateFrames),
      "correctedBytes": .number(correctedBytes), "correctableErrors": .number(correctableErrors),
      "foreignBytes": .number(foreignBytes), "resumes": .number(resumes),
      "errors": errors.map { .number($0.count) }, "errorsPerMillionBytes": errors.map { .number($0.perMillionBytes) },
    ]
  }
}

extension JSON {
  /// RFC 3339, in UTC.
  static func time(_ seconds: Int) -> JSON {
    .string(CalendarTime(secondsSinceEpoch: seconds).utc)
  }
}

// MARK: From links and upstreams

extension DaemonStatus.Requests {
  init(_ tally: ExchangeTally) {
    running = tally.runningCount
    done = tally.doneCount
    failed = Dictionary(uniqueKeysWithValues: tally.failedCounts.map { ("\($0.key)", $0.value) })
  }
}

extension DaemonStatus.Link {
  /// - Parameter isInbound: Whether the far end opens it.
  init(
    link name: String, device: String? = nil, _ status: UpstreamStatus, isInbound: Bool, roundTrip: TimeAmount?
  ) {
    self.init(name, status, .link(LinkState(status.state, isInbound: isInbound)))
    self.device = device
    upstream = status.name
    self.roundTrip = (roundTrip?.nanoseconds).map { Int($0) }
    line = status.line
    counts = status.counts
    links = status.links.map { Self(one: $0) }
  }

  /// Creates one of several links to a device.
  private init(one status: LinkStatus) {
    name = status.address?.publicName ?? status.name
    since = .secondsSinceEpoch(of: status.since)
    switch status.state {
    case .up: state = .link(.up)
    case .standingBy: state = .standingBy
    case .down(let error):
      state = .link(.down)
      reason = error.message
    }
    counts = status.counts
  }

  /// Creates a link that this end serves.
  /// - Parameters:
  ///   - connections: Its open connections.
  ///   - state: Its state apart from these.
  init(served address: LinkAddress, _ connections: [ServedLink], _ state: ServedLinkState) {
    name = address.publicName
    line = connections.lazy.compactMap(\.line).first
    // A connection that opens after a refusal may be refused as well.
    let connections = if case .refused = state { [ServedLink]() } else { connections }
    if let open = connections.first(where: { $0.interruption == nil }) {
      self.state = .link(.up)
      since = .secondsSinceEpoch(of: open.since)
    } else if let interruption = connections.lazy.compactMap(\.interruption).first {
      self.state = .link(.interrupted)
      since = .secondsSinceEpoch(of: interruption.since)
      reason = interruption.reason
    } else {
      switch state {
      case .listening:
        self.state = .link(.waiting)
      case .unavailable(let text):
        self.state = .link(.waiting)
        reason = text
      case .dialing:
        self.state = .link(.opening)
      case .down(let text, let begin):
        self.state = .link(.down)
        since = .secondsSinceEpoch(of: begin)
        reason = text.replacing(address.text, with: name)
      case .refused(let text, let begin):
        self.state = .refused
        since = .secondsSinceEpoch(of: begin)
        reason = text.replacing(address.text, with: name)
      }
    }
  }

  init(origin name: String, _ status: UpstreamStatus) {
    let state: State =
      switch status.state {
      case .idle, .opening: .unknown
      case .open, .interrupted, .closed: .reachable
      case .down: .unreachable
      }
    self.init(name, status, state)
  }

  private init(_ name: String, _ status: UpstreamStatus, _ state: State) {
    self.name = name
    self.state = state
    connections = status.connections
    reason = status.state.reason
    switch status.state {
    case .open(let since): self.since = since.map { .secondsSinceEpoch(of: $0) }
    case .interrupted(let interruption): since = .secondsSinceEpoch(of: interruption.since)
    case .down, .idle, .opening, .closed: break
    }
  }
}
