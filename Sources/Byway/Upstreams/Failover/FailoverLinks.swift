import Logging
import NIOCore

/// A byte stream to the remote end, and its link.
struct OpenedLink: Sendable {
  let channel: any Channel
  let link: Int
  /// The links that were tried for it.
  let tried: Set<Int>
}

/// The links to one target, the best one first. Opens the first one that works, and keeps their state. Usually there is only one.
///
/// Lives on its event loop.
final class FailoverLinks {
  /// The name of the target in messages.
  let name: String
  let dialers: [Dialer]
  private(set) var table: LinkTable
  private var logs: [LinkLog]
  /// Whether events are logged; those of origins are not.
  private let isLogged: Bool
  private var isClosed = false
  /// The error code for a failure to open; `nil`: the code of the dialer's error.
  private let unavailable: BywayError.Code?
  private let jitter: @Sendable () -> Double

  /// - Parameters:
  ///   - name: the name of the target; `nil`: the first link's.
  ///   - logger: `nil` for origins.
  init(
    _ dialers: [Dialer], name: String? = nil, logger: Logger?, unavailable: BywayError.Code?,
    jitter: @escaping @Sendable () -> Double, at now: NIODeadline
  ) {
    self.dialers = dialers
    self.name = name ?? dialers.first?.name ?? "nowhere"
    table = LinkTable(count: dialers.count, at: now)
    let silent = Logger(label: "byway.links") { _ in SwiftLogNoOpLogHandler() }
    logs = dialers.map { LinkLog(logger ?? silent, name: $0.name, shared: $0.failures) }
    isLogged = logger != nil
    self.unavailable = unavailable
    self.jitter = jitter
  }

  /// Whether there is more than one link.
  var areSeveral: Bool { dialers.count > 1 }

  /// Whether the remote end dials.
  var areAwaited: Bool { dialers.first?.isAwaited ?? false }

  /// Whether this object opens connections itself, instead of getting them from a component that listens for many.
  var isOpenedHere: Bool { !areAwaited || dialers.first?.inbound != nil }

  /// The link in use.
  var current: Int? { table.current }

  func name(of link: Int) -> String { dialers[link].name }

  // MARK: Opening

  /// Opens the best link that works.
  /// - Parameter tried: links to leave out.
  func dial(
    without tried: Set<Int> = [], on eventLoop: any EventLoop, deadline: NIODeadline
  ) -> EventLoopFuture<OpenedLink> {
    LinkRace(self, without: tried, on: eventLoop, deadline: deadline).start()
  }

  /// Opens this link, for a trial.
  func dial(only link: Int, on eventLoop: any EventLoop, deadline: NIODeadline) -> EventLoopFuture<OpenedLink> {
    dialers[link].dial(on: eventLoop, deadline: deadline).map { OpenedLink(channel: $0, link: link, tried: [link]) }
  }

  func next(besides running: Set<Int>, without tried: Set<Int>, at now: NIODeadline) -> Int? {
    table.next(besides: running, without: tried, at: now)
  }

  func headStart(of link: Int) -> TimeAmount { table.headStart(of: link) }

  // MARK: Results

  /// New requests take it from now on.
  func taken(_ link: Int, at now: NIODeadline) {
    table.taken(link, at: now)
    logs[link].opened()
  }

  /// A connection over it has had a response. Other connections may be open, over any link.
  func serves(_ link: Int, at now: NIODeadline) {
    if let current, current <= link { return }
    table.taken(link, at: now)
  }

  /// It has passed its trial.
  func passed(_ link: Int) {
    table.passed(link)
  }

  /// It opens, but is not needed.
  func works(_ link: Int, at now: NIODeadline) {
    table.works(link, at: now)
  }

  /// - Parameter isUrgent: whether an exchange waited for it.
  func failed(_ link: Int, _ error: any Error, isUrgent: Bool = true, at now: NIODeadline) {
    let failure = explain(error, of: link)
    table.failed(link, failure, at: now, fraction: jitter())
    if isLogged, !isClosed { logs[link].unavailable(failure, isUrgent: isUrgent, at: now) }
  }

  /// Whether new requests take it.
  func isUp(_ link: Int) -> Bool { table.isUp(link) }

  /// Its connection is about to be lost.
  func failing(_ link: Int, _ error: BywayError, at now: NIODeadline) {
    table.failed(link, explain(error, of: link), at: now, fraction: jitter())
  }

  /// - Parameter isLast: whether it has no other connection by now.
  func lost(_ link: Int, _ error: BywayError, isLast: Bool, at now: NIODeadline) {
    if isLast { table.failed(link, explain(error, of: link), at: now, fraction: jitter()) }
    logs[link].lost(error)
  }

  func closed(_ link: Int, isLast: Bool, at now: NIODeadline) {
    if isLast { table.left(link, at: now) }
    logs[link].closed()
  }

  /// Another gateway has dialed.
  func replaced() {
    logs[0].replaced()
  }

  /// Stops accepting gateways that dial.
  func stopAwaiting() {
    guard let inbound = dialers.first?.inbound else { return }
    isClosed = true
    Task { await inbound.close() }
  }

  /// Stops listening, and logs no more attempts.
  func close() {
    isClosed = true
    stopAwaiting()
  }

  /// The error for exchanges that wait for a connection.
  func explain(_ error: any Error, of link: Int = 0) -> BywayError {
    var failure =
      error as? BywayError
      ?? BywayError(unavailable ?? .originUnavailable, "\(name(of: link)) cannot be reached.", cause: error)
    if let unavailable { failure.code = unavailable }
    failure.processing = .none
    return failure
  }

  /// Why none of the links opens.
  var failure: BywayError {
    let failures = table.failures
    guard var failure = failures.first?.error else {
      return BywayError(unavailable ?? .timedOut, "\(name) did not open in time.", processing: .none)
    }
    if areSeveral {
      let reasons = failures.map { "\(name(of: $0.link)): \($0.error.message)" }.joined(separator: " ")
      // Another of them may open soon.
      if !failures.allSatisfy({ $0.error.isLasting }) { failure.diagnosis = nil }
      failure.message = "None of the \(dialers.count) links to \(name) opens. \(reasons)"
    }
    return failure
  }

  // MARK: Status

  /// The sum of the counters of all links.
  var counts: LinkCounts {
    logs.reduce(into: LinkCounts()) { sum, log in
      sum.openings += log.counts.openings
      sum.losses += log.counts.losses
      sum.failures += log.counts.failures
    }
  }

  /// Empty if there is only one link.
  var status: [LinkStatus] {
    guard areSeveral else { return [] }
    return dialers.indices.map { link in
      let (state, since) = table.state(of: link)
      return LinkStatus(
        name: name(of: link), address: dialers[link].address, state: state, since: since,
        counts: isLogged ? logs[link].counts : nil)
    }
  }
}
