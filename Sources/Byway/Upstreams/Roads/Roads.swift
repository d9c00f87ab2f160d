import Logging
import NIOCore

/// A byte stream to the far end, and which road it takes.
struct OpenedRoad: Sendable {
  let channel: any Channel
  let road: Int
  /// The roads that were tried for it.
  let tried: Set<Int>
}

/// The roads to one place, the better one first: opens the first that works, and is told what became of it. Mostly there is
/// just one.
///
/// Lives on its event loop.
final class Roads {
  /// What messages call the place.
  let name: String
  let dialers: [Dialer]
  private var table: RoadTable
  private var logs: [LinkLog]
  /// Nothing is told of origins.
  private let isLogged: Bool
  private var isClosed = false
  /// What to call the failure to open one; `nil`: what the dialer calls it.
  private let unavailable: BywayError.Code?
  private let jitter: @Sendable () -> Double

  /// - Parameters:
  ///   - name: where the name of the first will not do.
  ///   - logger: `nil` for those of origins.
  init(
    _ dialers: [Dialer], name: String? = nil, logger: Logger?, unavailable: BywayError.Code?,
    jitter: @escaping @Sendable () -> Double, at now: NIODeadline
  ) {
    self.dialers = dialers
    self.name = name ?? dialers.first?.name ?? "nowhere"
    table = RoadTable(count: dialers.count, at: now)
    let silent = Logger(label: "byway.roads") { _ in SwiftLogNoOpLogHandler() }
    logs = dialers.map { LinkLog(logger ?? silent, name: $0.name, shared: $0.failures) }
    isLogged = logger != nil
    self.unavailable = unavailable
    self.jitter = jitter
  }

  /// There is another one to go to.
  var areSeveral: Bool { dialers.count > 1 }

  /// The far end dials.
  var areAwaited: Bool { dialers.first?.isAwaited ?? false }

  /// Whoever has it does not hand over connections only.
  var isOpenedHere: Bool { !areAwaited || dialers.first?.inbound != nil }

  /// The one in use.
  var current: Int? { table.current }

  func name(of road: Int) -> String { dialers[road].name }

  // MARK: Opening

  /// Opens the best one that works.
  /// - Parameter tried: those that are not to be tried.
  func dial(
    without tried: Set<Int> = [], on eventLoop: any EventLoop, deadline: NIODeadline
  ) -> EventLoopFuture<OpenedRoad> {
    RoadRace(self, without: tried, on: eventLoop, deadline: deadline).start()
  }

  /// Opens this one, for a trial.
  func dial(only road: Int, on eventLoop: any EventLoop, deadline: NIODeadline) -> EventLoopFuture<OpenedRoad> {
    dialers[road].dial(on: eventLoop, deadline: deadline).map { OpenedRoad(channel: $0, road: road, tried: [road]) }
  }

  func next(besides running: Set<Int>, without tried: Set<Int>, at now: NIODeadline) -> Int? {
    table.next(besides: running, without: tried, at: now)
  }

  func headStart(of road: Int) -> TimeAmount { table.headStart(of: road) }

  func nextTrial(betterThan road: Int) -> (road: Int, at: NIODeadline)? { table.nextTrial(betterThan: road) }

  func trial(of road: Int) -> TimeAmount { table.trial(of: road) }

  // MARK: What became of them

  /// New requests take it from now on.
  func taken(_ road: Int, at now: NIODeadline) {
    table.taken(road, at: now)
    logs[road].opened()
  }

  /// A connection over it has had its response. There may be others, over any road.
  func serves(_ road: Int, at now: NIODeadline) {
    if let current, current <= road { return }
    table.taken(road, at: now)
  }

  /// It was well for as long as its trial takes.
  func passed(_ road: Int) {
    table.passed(road)
  }

  /// It opens, but is not needed.
  func works(_ road: Int, at now: NIODeadline) {
    table.works(road, at: now)
  }

  /// - Parameter isUrgent: somebody waited for it.
  func failed(_ road: Int, _ error: any Error, isUrgent: Bool = true, at now: NIODeadline) {
    let failure = explain(error, of: road)
    table.failed(road, failure, at: now, fraction: jitter())
    if isLogged, !isClosed { logs[road].unavailable(failure, isUrgent: isUrgent, at: now) }
  }

  /// New requests take it.
  func isUp(_ road: Int) -> Bool {
    if case .up = table.state(of: road).0 { true } else { false }
  }

  /// Its connection is about to be lost.
  func failing(_ road: Int, _ error: BywayError, at now: NIODeadline) {
    table.failed(road, explain(error, of: road), at: now, fraction: jitter())
  }

  /// - Parameter isLast: it has not another connection by now.
  func lost(_ road: Int, _ error: BywayError, isLast: Bool, at now: NIODeadline) {
    if isLast { table.failed(road, explain(error, of: road), at: now, fraction: jitter()) }
    logs[road].lost(error)
  }

  func closed(_ road: Int, isLast: Bool, at now: NIODeadline) {
    if isLast { table.left(road, at: now) }
    logs[road].closed()
  }

  /// Another gateway has dialed.
  func replaced() {
    logs[0].replaced()
  }

  /// Nobody is answered any more who dials.
  func stopAwaiting() {
    guard let inbound = dialers.first?.inbound else { return }
    isClosed = true
    Task { await inbound.close() }
  }

  /// Tells nothing more of tries.
  func close() {
    isClosed = true
    stopAwaiting()
  }

  /// What it means to those who wait for a connection.
  func explain(_ error: any Error, of road: Int = 0) -> BywayError {
    var failure =
      error as? BywayError
      ?? BywayError(unavailable ?? .originUnavailable, "\(name(of: road)) cannot be reached.", cause: error)
    if let unavailable { failure.code = unavailable }
    failure.processing = .none
    return failure
  }

  /// Why none of them opens.
  var failure: BywayError {
    let failures = table.failures
    guard var failure = failures.first?.error else {
      return BywayError(unavailable ?? .timedOut, "\(name) did not open in time.", processing: .none)
    }
    if areSeveral {
      let reasons = failures.map { "\(name(of: $0.road)): \($0.error.message)" }.joined(separator: " ")
      failure.message = "None of the \(dialers.count) roads to \(name) opens. \(reasons)"
    }
    return failure
  }

  // MARK: Status

  /// What has happened to all of them.
  var counts: LinkCounts {
    logs.reduce(into: LinkCounts()) { sum, log in
      sum.openings += log.counts.openings
      sum.losses += log.counts.losses
      sum.failures += log.counts.failures
    }
  }

  /// Empty where there is just one.
  var status: [RoadStatus] {
    guard areSeveral else { return [] }
    return dialers.indices.map { road in
      let (state, since) = table.state(of: road)
      return RoadStatus(
        name: name(of: road), address: dialers[road].address, state: state, since: since,
        counts: isLogged ? logs[road].counts : nil)
    }
  }
}
