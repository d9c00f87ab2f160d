import NIOCore

@testable import Byway

/// A mode of a connection without I/O: one exchange at a time, or many.
protocol FakeMode {
  static var isMultiplexed: Bool { get }
}

enum OneAtATime: FakeMode {
  static var isMultiplexed: Bool { false }
}

enum ManyAtOnce: FakeMode {
  static var isMultiplexed: Bool { true }
}

/// A connection without I/O, whose properties the test sets.
final class FakeConnection<Mode: FakeMode>: PooledConnection {
  typealias Request = FakeRequest
  static var isMultiplexed: Bool { Mode.isMultiplexed }

  let name: String
  let link: Int
  var hasRoom = true
  var isInterrupted = false
  var isProved = true
  var isKept = false
  var load: Int { running.count }
  var running: [FakeRequest] = []
  var streamLimit = 2
  var closingStreams = 0
  var isResting = false

  init(_ name: String = "connection", link: Int = 0) {
    self.name = name
    self.link = link
  }

  func rests(at now: NIODeadline) -> Bool { isResting }
}

final class FakeRequest: WaitingExchange {
  let arrival: UInt64
  let client: ClientKey
  var share: ClientShare?
  var nextDeadline: NIODeadline?
  var isRepeatable = true
  var isPlaced = false
  var lastTraffic: NIODeadline?
  weak var failedOn: AnyObject?

  init(_ arrival: UInt64, of client: ClientKey) {
    self.arrival = arrival
    self.client = client
  }

  func hasFailed(on connection: AnyObject) -> Bool { failedOn === connection }
}

/// A pool in virtual time whose actions are recorded in words, and not carried out.
struct PoolBench<Mode: FakeMode>: ~Copyable {
  typealias Pool = ConnectionPool<FakeConnection<Mode>>

  var pool: Pool
  var links: LinkTable
  private(set) var now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
  /// The actions since the last call of ``take()``.
  private var actions: [String] = []
  private(set) var lastSent: FakeConnection<Mode>?
  private(set) var lastDial: (tried: Set<Int>, by: NIODeadline)?
  private var arrivals: UInt64 = 0

  init(links count: Int = 1, isAwaited: Bool = false, _ change: (inout Pool.Rules) -> Void = { _ in }) {
    var rules = Pool.Rules(
      maximumWaiting: 4, patience: .seconds(5), connectTimeout: .seconds(10), reuse: .forRepeatable,
      hasSeveralLinks: count > 1, isAwaited: isAwaited, isOpenedHere: true, jitter: { 1 })
    if !Mode.isMultiplexed { rules.maximumConnections = 2 }
    change(&rules)
    pool = Pool(rules)
    links = LinkTable(count: count, at: now)
  }

  /// Returns the actions since the last call.
  mutating func take() -> [String] {
    defer { actions = [] }
    return actions
  }

  mutating func advance(by time: TimeAmount) {
    now = now + time
    if let deadline = pool.nextDeadline, deadline <= now { event { $0.timePassed($1, at: $2) } }
  }

  /// Passes the time until the pool's next deadline.
  mutating func advanceToDeadline() {
    if let deadline = pool.nextDeadline { advance(by: max(deadline - now, .zero)) }
  }

  mutating func event(_ event: (inout Pool, LinkTable, NIODeadline) -> Void) {
    event(&pool, links, now)
    settle()
  }

  /// An exchange comes.
  @discardableResult
  mutating func arrive(of client: ClientKey = .own, isRepeatable: Bool = true) -> FakeRequest {
    arrivals += 1
    let request = FakeRequest(arrivals, of: client)
    request.isRepeatable = isRepeatable
    if let connection = pool.connection(for: request, at: now) {
      send(request, connection)
    } else {
      pool.wait(request, at: now)
    }
    settle()
    return request
  }

  mutating func becomesIdle(_ connection: FakeConnection<Mode>) {
    connection.running = []
    switch pool.becameIdle(connection, isOnLesserLink: connection.link > links.current ?? .max) {
    case .serve(let request): send(request, connection)
    case .keep: connection.isKept = true
    case .close: actions.append("close")
    case .nothing: break
    }
    settle()
  }

  private mutating func send(_ request: FakeRequest, _ connection: FakeConnection<Mode>) {
    actions.append("send")
    request.isPlaced = true
    request.share?.running += 1
    connection.running.append(request)
    lastSent = connection
  }

  private mutating func settle() {
    while let action = pool.nextAction(links, at: now) {
      switch action {
      case .open(let tried, let deadline):
        lastDial = (tried, deadline)
        actions.append("open")
      case .search: actions.append("search")
      case .awaitGateway: actions.append("await")
      case .test: actions.append("test")
      case .ping: actions.append("ping")
      case .use(let connection):
        if Mode.isMultiplexed { links.taken(connection.link, at: now) }
        actions.append("use")
      case .send(let request, let connection): send(request, connection)
      case .refuse: actions.append("refuse")
      case .fail(let request, _):
        pool.remove(request)
        actions.append("fail")
      case .failWaiting:
        if !pool.waiting.isEmpty { actions.append("fail all") }
      case .reclaim: actions.append("reclaim")
      case .close: actions.append("close")
      case .abort: actions.append("abort")
      case .giveUp: actions.append("give up")
      case .passed(let connection): links.passed(connection.link)
      case .linkFailed(let link, let error, _): links.failed(link, error, at: now, fraction: 1)
      case .replaced: actions.append("replace")
      case .tellTime: pool.noteDeadlines()
      case .tellWant, .failPings: break
      }
    }
  }
}
