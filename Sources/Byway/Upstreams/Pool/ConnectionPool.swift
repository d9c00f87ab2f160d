import NIOCore

/// The connections of an upstream to one target, and the exchanges that wait for them, with HTTP/1.1 as well as with HTTP/2.
///
/// A pure state machine: time and random numbers are arguments, and each event leads to actions for the owner, in their order:
/// ``nextAction(_:at:)``. It reads the properties of its connections and exchanges, and calls none of their functions that change
/// anything. docs/design/connection-pool.md has the table of states and events. It cannot be copied, because a question about its state
/// would copy it, and each request asks two.
struct ConnectionPool<Connection: PooledConnection>: ~Copyable {
  typealias Request = Connection.Request
  typealias Trial = ConnectionTrial<Connection>

  enum Life {
    case serving
    /// Finishes its exchanges, and keeps no unused connections.
    case retired
    case shutDown
  }

  /// The search for a better link than the one in use.
  enum Search {
    case none
    case pausing(until: NIODeadline)
    case dialing
    case trying(Trial)
  }

  /// The wait for a gateway to dial.
  enum Gateway {
    case none
    case awaited
    /// A new connection is being tested while another one is in use.
    case trying(Trial)
  }

  /// The number of missing connections.
  private enum Need {
    case none
    /// As many as there are exchanges waiting.
    case forWaiting
    /// A single one, even if no exchange is waiting.
    case one
  }

  var rules: Rules
  private(set) var life = Life.serving
  /// HTTP/1.1: the idle connections. HTTP/2: the connection in use, preceded by those that stand by or share its exchanges. The latest last.
  private(set) var ready: [Connection] = []
  /// HTTP/1.1: the number of open connections.
  private(set) var openCount = 0
  /// Attempts to open a connection.
  private(set) var dialing = 0
  /// The connection that waiting exchanges get when its remote end has answered.
  private(set) var proving: Trial?
  /// The end of the pause before the next attempt.
  private(set) var pauseEnd: NIODeadline?
  private(set) var search = Search.none
  private(set) var gateway = Gateway.none
  private(set) var waiting = WaitingQueue<Request>()
  /// Whether a connection was in use at least once.
  private(set) var hasServed = false
  private(set) var lastFailure: BywayError?
  private var backoff = Backoff()
  /// When a connection, or an attempt to open one, last failed.
  private var lastEnd = NIODeadline.uptimeNanoseconds(0)
  /// When the last exchange arrived.
  private var lastUse = NIODeadline.uptimeNanoseconds(0)
  /// Connections whose line is gone, and when they are given up.
  private var stalled: [(connection: Connection, until: NIODeadline)] = []
  /// When idle tunnels are looked for, because exchanges wait for their turn.
  private var reclaimAt: NIODeadline?
  private var actions = CircularBuffer<Action>()
  private var missingConnections = Need.none
  private var isWantNew = false
  private var isSearchDue = false

  init(_ rules: Rules) {
    self.rules = rules
  }

  // MARK: State

  /// HTTP/2: the connection that takes exchanges.
  var current: Connection? { proving == nil ? ready.last : nil }

  /// HTTP/2: the connections that take exchanges.
  private var working: [Connection] {
    guard let current else { return [] }
    return rules.sharing == .balanced ? ready : [current]
  }

  /// The number of exchanges that the remote end allows at once.
  var streamLimit: Int { working.reduce(0) { $0 + $1.streamLimit } }

  /// HTTP/1.1: whether no more connections may be opened.
  var isFull: Bool { openCount + dialing >= rules.maximumConnections }

  /// Whether a connection is being opened, for the first time or again.
  var isOpening: Bool { dialing > 0 || proving != nil || pauseEnd != nil }

  /// The event that a waiting exchange needs.
  var want: RequestLife.Want {
    guard Connection.isMultiplexed else { return openCount == 0 ? .connection : .turn }
    guard let current, current.isProved, !current.isInterrupted else { return .connection }
    return .turn
  }

  /// Whether there is nothing to do for the owner after an exchange was begun or has ended.
  var isSettled: Bool { actions.isEmpty && !isSearchDue && life == .serving }

  /// When ``timePassed(_:at:)`` is due.
  var nextDeadline: NIODeadline? {
    var next = min(waiting.earliest, stalled.first?.until ?? .distantFuture)
    next = min(next, pauseEnd ?? .distantFuture, reclaimAt ?? .distantFuture, proving?.deadline ?? .distantFuture)
    switch search {
    case .pausing(let end): next = min(next, end)
    case .trying(let trial): next = min(next, trial.deadline)
    case .none, .dialing: break
    }
    if case .trying(let trial) = gateway { next = min(next, trial.deadline) }
    return next == .distantFuture ? nil : next
  }

  /// Whether new exchanges wait because its line is gone, and may return soon. Exchanges sent now could not be repeated over another link.
  private func mustWait(for connection: Connection) -> Bool { rules.hasSeveralLinks && connection.isInterrupted }

  /// The next action; `nil` until there is another event.
  /// - Parameter links: the state of the links.
  mutating func nextAction(_ links: LinkTable, at now: NIODeadline) -> Action? {
    if let action = actions.popFirst() { return action }
    if let (request, connection) = nextTurn(at: now) { return .send(request, on: connection) }
    if life == .retired, waiting.isEmpty, proving == nil, let last = ready.popLast() { return .close(last) }
    if isWantNew {
      isWantNew = false
      if !waiting.isEmpty {
        reclaimTunnels(at: now)
        return .tellWant
      }
    }
    openMore(at: now)
    if isSearchDue { searchBetterLink(links, at: now) }
    return actions.popFirst()
  }

  // MARK: Exchanges

  /// An exchange needs a connection.
  /// - Returns: one for it; `nil` if it has to wait, or is refused: ``wait(_:at:)``.
  mutating func connection(for request: Request, at now: NIODeadline) -> Connection? {
    lastUse = now
    if rules.hasSeveralLinks { isSearchDue = true }
    if !Connection.isMultiplexed { return takeIdle(for: request) }
    // A connection may be about to start.
    guard waiting.isEmpty, actions.isEmpty, let current, hasRoom(current) else { return nil }
    return place(for: request, besides: current, at: now)
  }

  /// It waits for a connection, or for a stream on the open one. It has been told ``want``.
  mutating func wait(_ request: Request, at now: NIODeadline) {
    if life == .shutDown { return actions.append(.refuse(request, .shutDown)) }
    if waiting.count >= rules.maximumWaiting {
      let greediest = waiting.exchangeToDrop(for: request)
      actions.append(.refuse(greediest, .tooManyWait))
      if greediest === request { return }
      waiting.remove(greediest)
    }
    waiting.insert(request)
    need(.forWaiting)
    if Connection.isMultiplexed {
      reclaimTunnels(at: now)
    } else if !isFull {
      // The new connection replaces an idle one: idle connections must not occupy all workers of a server that has few.
      closeOldestIdle()
    }
  }

  /// It waits no longer.
  mutating func remove(_ request: Request) {
    waiting.remove(request)
  }

  /// The waiting exchanges have been told something.
  mutating func noteDeadlines() {
    waiting.noteDeadlines()
  }

  /// Returns the next exchange with the connection for it.
  private mutating func nextTurn(at now: NIODeadline) -> (Request, Connection)? {
    guard Connection.isMultiplexed, !waiting.isEmpty, let current, hasRoom(current) else { return nil }
    if waiting.needsCount { countRunning() }
    return waiting.popNext().map { ($0, place(for: $0, besides: current, at: now)) }
  }

  private mutating func countRunning() {
    waiting.count(working.flatMap(\.running).filter(\.isPlaced))
  }

  /// Whether it, or another one that shares the exchanges, can take an exchange at once.
  private func hasRoom(_ current: Connection) -> Bool {
    if mustWait(for: current) { return false }
    return current.hasRoom || (rules.sharing == .balanced && ready.contains(where: \.hasRoom))
  }

  /// Chooses the least busy connection where gateways share the exchanges. A connection that fails exchanges immediately would always be
  /// the least busy one, so it comes after the others for a while, and last for an exchange that it has failed already.
  private func place(for request: Request, besides current: Connection, at now: NIODeadline) -> Connection {
    guard rules.sharing == .balanced, ready.count > 1 else { return current }
    func cost(_ connection: Connection) -> (Int, Int) {
      let flaws = (request.hasFailed(on: connection) ? 2 : 0) + (connection.rests(at: now) ? 1 : 0)
      return (flaws + (connection.hasRoom ? 0 : 4), connection.load)
    }
    return ready.dropLast().reduce(current) { cost($1) < cost($0) ? $1 : $0 }
  }

  /// The remote end takes so many connections at once.
  mutating func limit(to count: Int) {
    rules.maximumConnections = count
    if !waiting.isEmpty { need(.forWaiting) }
  }

  // MARK: Idle connections

  private mutating func takeIdle(for request: Request) -> Connection? {
    guard rules.reuse.permits(request.isRepeatable) else { return nil }
    while let connection = ready.popLast() {
      if connection.hasRoom, !mustWait(for: connection) { return connection }
      actions.append(.close(connection))
    }
    return nil
  }

  private mutating func closeOldestIdle() {
    if !ready.isEmpty { actions.append(.close(ready.removeFirst())) }
  }

  /// A connection that carries one exchange at a time can take one: its first, or another one.
  /// - Parameter isOnLesserLink: whether a better link is in use.
  mutating func becameIdle(_ connection: Connection, isOnLesserLink: Bool) -> Idleness {
    if role(of: connection) != nil { return .nothing }
    lastFailure = nil
    hasServed = true
    backoff.reset()
    if let request = takeWaiting(for: connection) { return .serve(request) }
    if life != .serving || isOnLesserLink { return .close }
    ready.append(connection)
    if !waiting.isEmpty { need(.forWaiting) }
    return .keep
  }

  private mutating func takeWaiting(for connection: Connection) -> Request? {
    if waiting.isEmpty { return nil }
    if !connection.isKept { return waiting.popNext() }
    // At the limit nothing overtakes a request that needs a new connection: this connection is closed to make room for it.
    if isFull, dialing == 0, let next = waiting.next, !rules.reuse.permits(next.isRepeatable) { return nil }
    return waiting.popNext { [rules] in rules.reuse.permits($0.isRepeatable) }
  }

  // MARK: Opening

  /// A connection is needed now, although no exchange waits for it.
  mutating func open() {
    need(.one)
  }

  private mutating func need(_ more: Need) {
    if missingConnections != .one { missingConnections = more }
  }

  /// The connection is lost, or did not open.
  private mutating func needAgain() {
    need(rules.isKeptOpen && life == .serving ? .one : .forWaiting)
  }

  private mutating func openMore(pauses: Bool = true, at now: NIODeadline) {
    let need = missingConnections
    missingConnections = .none
    guard need != .none, life != .shutDown else { return }
    while dialing < (Connection.isMultiplexed ? missing(need) : waiting.count) {
      if pauseEnd != nil { return failWaitingWithoutPatience() }
      if isFull { return closeOldestIdle() }
      // An exchange that comes long after a failure need not wait for the backoff.
      let pause = backoff.pause(fraction: rules.jitter()) - (now - lastEnd)
      if pauses, pause > .zero {
        pauseEnd = now + pause
        return failWaitingWithoutPatience()
      }
      dial(at: now)
    }
  }

  private func missing(_ need: Need) -> Int {
    current == nil && proving == nil && (need == .one || !waiting.isEmpty) ? 1 : 0
  }

  /// For an exchange without patience, the next attempt comes too late. If the last failure is a lasting one, it is useless for all.
  private mutating func failWaitingWithoutPatience() {
    guard let lastFailure else { return }
    let isHopeless = Connection.isMultiplexed && rules.patience == .zero || lastFailure.isLasting
    if isHopeless { actions.append(.failWaiting(lastFailure)) }
  }

  /// - Parameter tried: links that have failed in this attempt.
  private mutating func dial(without tried: Set<Int> = [], at now: NIODeadline) {
    dialing += 1
    if rules.isAwaited { awaitGateway() } else { actions.append(.open(without: tried, by: now + timeToConnect)) }
  }

  /// The first attempt ends before the patience of the waiting exchanges, so that they fail with its reason. Once a reason is known, a link
  /// gets the full time, even if it takes longer to open than an exchange waits.
  private var timeToConnect: TimeAmount {
    guard rules.patience > .zero, lastFailure == nil else { return rules.connectTimeout }
    return min(rules.connectTimeout, .nanoseconds(rules.patience.nanoseconds / 10 * 9))
  }

  /// An attempt has opened a connection, which is not started yet.
  mutating func opened(_ connection: Connection, tried: Set<Int> = [], at now: NIODeadline) {
    if !Connection.isMultiplexed {
      dialing -= 1
      opens(connection)
    } else if rules.hasSeveralLinks {
      // Sends nothing on an unproved link while there are others: a request that may not be repeated could not move to them.
      dialing = 0
      let trial = Trial(connection, within: LinkTable.headStart + connection.timeToProve, tried: tried, at: now)
      begin(trial, as: .proving)
    } else {
      // Until the peer has proved that it speaks HTTP/2, a lost connection counts as a failed attempt.
      backoff.fail()
      use(connection)
    }
  }

  private mutating func opens(_ connection: Connection) {
    openCount += 1
    if openCount == 1 { isWantNew = true }
    actions.append(.use(connection))
  }

  private mutating func use(_ connection: Connection) {
    dialing = 0
    pauseEnd = nil
    hasServed = true
    ready.append(connection)
    actions.append(.use(connection))
    isWantNew = true
    if rules.isAwaited { awaitGateway() }
  }

  /// Uses a connection whose remote end has answered.
  private mutating func take(_ connection: Connection) {
    proved()
    use(connection)
    if rules.hasSeveralLinks { isSearchDue = true }
  }

  /// The peer of a connection speaks HTTP/2.
  mutating func proved(_ connection: Connection) {
    if role(of: connection) == nil { proved() }
  }

  private mutating func proved() {
    backoff.reset()
    lastFailure = nil
    isWantNew = true
  }

  /// An attempt to open a connection has failed.
  mutating func dialFailed(_ failure: BywayError, at now: NIODeadline) {
    guard dialing > 0 else { return }
    dialing -= 1
    connectFailed(failure, at: now)
  }

  private mutating func connectFailed(_ failure: BywayError, at now: NIODeadline) {
    lastFailure = failure
    if Connection.isMultiplexed || rules.patience > .zero {
      backoff.fail()
      lastEnd = now
    }
    if Connection.isMultiplexed {
      failAll(failure)
    } else if rules.patience == .zero || failure.isLasting, dialing < waiting.count,
      let first = waiting.exchanges.first
    {
      // This attempt was for that exchange.
      actions.append(.fail(first, failure))
    }
    needAgain()
  }

  // MARK: Ends

  /// A connection takes no more exchanges. The running ones continue.
  mutating func refuses(_ connection: Connection, at now: NIODeadline) {
    if onTrial(connection, at: now, { $0.refused() }) { return }
    stopUsing(connection, at: now)
    need(.forWaiting)
  }

  private mutating func stopUsing(_ connection: Connection, at now: NIODeadline) {
    let wasCurrent = current === connection
    ready.removeAll { $0 === connection }
    guard wasCurrent else { return }
    isWantNew = true
    if rules.isAwaited { goOnWithAnother(at: now) }
  }

  /// A connection has ended.
  /// - Parameters:
  ///   - error: the reason; `nil` if it ended normally.
  ///   - failure: the error for exchanges that wait for a connection; `nil` if there is none.
  mutating func ended(
    _ connection: Connection, _ error: BywayError?, forWaiting failure: BywayError?, at now: NIODeadline
  ) {
    let error = error ?? BywayError(.linkLost, "\(connection.name) was closed.", processing: .none)
    if onTrial(connection, at: now, { _ in .failed(error) }) { return }
    if Connection.isMultiplexed {
      lost(connection, error, failure, at: now)
    } else {
      closed(connection, failure, at: now)
    }
  }

  private mutating func closed(_ connection: Connection, _ failure: BywayError?, at now: NIODeadline) {
    openCount -= 1
    ready.removeAll { $0 === connection }
    if openCount == 0 { isWantNew = true }
    if let failure {
      connectFailed(failure, at: now)
    } else {
      hasServed = true
      need(.forWaiting)
    }
  }

  private mutating func lost(
    _ connection: Connection, _ error: BywayError, _ failure: BywayError?, at now: NIODeadline
  ) {
    lastEnd = now
    stopUsing(connection, at: now)
    // Later exchanges fail with the reason why there is no link now.
    if let failure { lastFailure = failure }
    // A connection that took no more streams may end while another one is open, or is about to open.
    if current != nil || proving != nil || hastenSearch(at: now) { return }
    guard dialing == 0, pauseEnd == nil else { return }
    // Exchanges may be waiting if it ended before it could be used.
    var error = error
    error.processing = .none
    failAll(error)
    needAgain()
  }

  private mutating func failAll(_ error: BywayError) {
    actions.append(.failPings(error))
    actions.append(.failWaiting(error))
  }

  /// The line under a connection is gone, and the connection waits for it.
  mutating func interrupted(_ connection: Connection, at now: NIODeadline) {
    if role(of: connection) != nil {
      // PINGs detect it.
      if !Connection.isMultiplexed { actions.append(.abort(connection)) }
      return
    }
    if Connection.isMultiplexed { isWantNew = true }
    if rules.hasSeveralLinks { stalled.append((connection, now + LinkTable.patienceWithLines)) }
  }

  /// The remote end of a connection was heard again.
  mutating func resumed(_ connection: Connection) {
    isWantNew = true
  }

  /// Keeps no unused connection open from now on.
  mutating func retire() {
    guard life == .serving else { return }
    life = .retired
    endTrials()
    if !Connection.isMultiplexed { closeReady() }
  }

  /// Uses nothing more.
  /// - Returns: the connections that close when their exchanges have ended.
  mutating func shutDown() -> [Connection] {
    life = .shutDown
    endTrials()
    if let trial = proving.take() {
      if trial.hasStoodBy { ready.append(trial.connection) } else { cancel(trial) }
    }
    // Others end with their attempts.
    if Connection.isMultiplexed { dialing = 0 }
    pauseEnd = nil
    reclaimAt = nil
    stalled = []
    defer { closeReady() }
    return ready
  }

  private mutating func closeReady() {
    for connection in ready { actions.append(.close(connection)) }
    ready = []
  }

  private mutating func endTrials() {
    if case .trying(let trial) = search { cancel(trial) }
    if case .trying(let trial) = gateway { cancel(trial) }
    search = .none
    gateway = .none
  }

  private mutating func cancel(_ trial: Trial) {
    let error = BywayError(.cancelled, "The client was shut down.", processing: .none)
    actions.append(.giveUp(trial.connection, error))
  }

  /// Hands out its connection for another upstream, and uses nothing more.
  mutating func release() -> Connection? {
    guard let current else { return nil }
    life = .shutDown
    ready = []
    return current
  }

  /// The next deadline has passed.
  mutating func timePassed(_ links: LinkTable, at now: NIODeadline) {
    if waiting.earliest <= now { actions.append(.tellTime) }
    if let end = pauseEnd, end <= now {
      pauseEnd = nil
      need(.one)
      openMore(pauses: false, at: now)
    }
    while let first = stalled.first, first.until <= now {
      stalled.removeFirst()
      if first.connection.isInterrupted { actions.append(.abort(first.connection)) }
    }
    if let time = reclaimAt, time <= now {
      reclaimAt = nil
      if !waiting.isEmpty, want == .turn {
        if !waiting.isCounted { countRunning() }
        for tunnel in IdleTunnels.toEnd(of: working, shares: waiting.sharesInUse, at: now) {
          actions.append(.reclaim(tunnel))
        }
        reclaimAt = now + PoolLimits.reclaiming
      }
    }
    if case .pausing(let end) = search, end <= now {
      search = .none
      isSearchDue = true
    }
    for role in Role.allCases {
      if let trial = self[role] { onTrial(trial.connection, at: now, isLinkUp: links.isUp) { $0.timePassed(at: now) } }
    }
  }

  // MARK: Trials

  private enum Role: CaseIterable {
    case proving, search, gateway
  }

  private subscript(role: Role) -> Trial? {
    get {
      switch role {
      case .proving: proving
      case .search: if case .trying(let trial) = search { trial } else { nil }
      case .gateway: if case .trying(let trial) = gateway { trial } else { nil }
      }
    }
    set {
      switch role {
      case .proving: proving = newValue
      case .search: search = newValue.map { .trying($0) } ?? .none
      case .gateway: gateway = newValue.map { .trying($0) } ?? .none
      }
    }
  }

  private func role(of connection: Connection) -> Role? {
    guard rules.hasSeveralLinks || rules.isAwaited else { return nil }
    return Role.allCases.first { self[$0]?.connection === connection }
  }

  /// Whether a connection is being tested.
  func isOnTrial(_ connection: Connection) -> Bool { role(of: connection) != nil }

  private mutating func begin(_ trial: Trial, as role: Role) {
    self[role] = trial
    actions.append(.test(trial.connection, isNew: !trial.hasStoodBy))
  }

  /// A PING has been answered.
  /// - Returns: whether it belongs to a trial.
  mutating func ponged(_ connection: Connection, _ links: LinkTable, at now: NIODeadline) -> Bool {
    onTrial(connection, at: now, isLinkUp: links.isUp) { $0.answered(at: now) }
  }

  /// - Returns: whether that connection is on trial.
  @discardableResult
  private mutating func onTrial(
    _ connection: Connection, at now: NIODeadline, isLinkUp: (Int) -> Bool = { _ in false },
    _ event: (inout Trial) -> Trial.Step
  ) -> Bool {
    guard let role = role(of: connection), var trial = self[role] else { return false }
    let step = event(&trial)
    switch step {
    case .nothing, .ping:
      self[role] = trial
      if case .ping = step { actions.append(.ping(connection)) }
    case .passed:
      self[role] = nil
      passed(trial, as: role, isLinkUp: isLinkUp(connection.link), at: now)
    case .failed(let error):
      self[role] = nil
      actions.append(.giveUp(connection, error))
      failed(trial, error, as: role, at: now)
    }
    return true
  }

  private mutating func passed(_ trial: Trial, as role: Role, isLinkUp: Bool, at now: NIODeadline) {
    let connection = trial.connection
    switch role {
    case .proving:
      take(connection)
    case .search where !Connection.isMultiplexed:
      actions.append(.passed(connection))
      for lesser in ready where lesser.link > connection.link { actions.append(.close(lesser)) }
      ready.removeAll { $0.link > connection.link }
      opens(connection)
    case .search where isLinkUp:
      // The better link came into use without this test.
      actions.append(.giveUp(connection, nil))
    case .search:
      actions.append(.passed(connection))
      adopt(connection, at: now)
    case .gateway:
      adopt(connection, at: now)
      awaitGateway()
    }
  }

  private mutating func failed(_ trial: Trial, _ error: BywayError, as role: Role, at now: NIODeadline) {
    switch role {
    case .proving where trial.hasStoodBy:
      goOnWithAnother(at: now)
    case .proving:
      actions.append(.linkFailed(trial.connection.link, error, isUrgent: true))
      dial(without: trial.tried, at: now)
    case .search:
      searchFailed(trial.connection.link, error)
    case .gateway:
      awaitGateway()
    }
  }

  /// Switches to a connection that works. Running exchanges end on their old connection.
  mutating func adopt(_ connection: Connection, at now: NIODeadline) {
    if life == .shutDown { return actions.append(.close(connection)) }
    if let trial = proving.take() {
      if trial.hasStoodBy { ready.append(trial.connection) } else { cancel(trial) }
    } else if !ready.isEmpty {
      if rules.isAwaited { standBy() } else { actions.append(.close(ready.removeLast())) }
    }
    take(connection)
  }

  // MARK: Back to a better link

  /// Searches for a better link while a lesser one is in use and has exchanges.
  private mutating func searchBetterLink(_ links: LinkTable, at now: NIODeadline) {
    isSearchDue = false
    let inUse = Connection.isMultiplexed ? current?.link : links.current
    guard case .none = search, life == .serving, let inUse, now - lastUse < PoolLimits.searching,
      let next = links.nextTrial(betterThan: inUse)
    else { return }
    if next.at <= now {
      search = .dialing
      actions.append(.search(link: next.link, by: now + rules.connectTimeout))
    } else if Connection.isMultiplexed {
      search = .pausing(until: next.at)
    }
  }

  /// The better link has opened a connection, which is not started yet.
  mutating func searchOpened(_ connection: Connection, _ links: LinkTable, at now: NIODeadline) {
    let patience = LinkTable.headStart + connection.timeToProve
    begin(Trial(connection, within: patience, for: links.trial(of: connection.link), at: now), as: .search)
  }

  /// The better link does not work.
  mutating func searchFailed(_ link: Int, _ error: BywayError) {
    search = .none
    actions.append(.linkFailed(link, error, isUrgent: false))
    if Connection.isMultiplexed { isSearchDue = true }
  }

  /// Ends the test early if a better link has answered already, because the lesser one is lost.
  private mutating func hastenSearch(at now: NIODeadline) -> Bool {
    guard case .trying(let trial) = search, trial.hasAnswered else { return false }
    return onTrial(trial.connection, at: now) { _ in .passed }
  }

  // MARK: Gateways that dial

  /// Waits for the next gateway to dial, unless it does so already.
  private mutating func awaitGateway() {
    guard life == .serving, case .none = gateway, rules.isOpenedHere else { return }
    gateway = .awaited
    actions.append(.awaitGateway)
  }

  /// A gateway has dialed; its connection is not started yet.
  mutating func gatewayDialed(_ connection: Connection, at now: NIODeadline) {
    gateway = .none
    if dialing > 0 { return opened(connection, at: now) }
    begin(Trial(connection, within: PoolLimits.patienceWithGateways, at: now), as: .gateway)
  }

  /// No gateway can dial.
  mutating func gatewayFailed(_ error: BywayError, at now: NIODeadline) {
    gateway = .none
    dialFailed(error, at: now)
  }

  /// Keeps the connection in use in reserve for a newer one that replaces it.
  private mutating func standBy() {
    if rules.sharing == .newest { actions.append(.replaced) }
    if ready.count > PoolLimits.mostOthers { actions.append(.close(ready.removeFirst())) }
  }

  /// Continues with a connection that stands by, or waits for one.
  private mutating func goOnWithAnother(at now: NIODeadline) {
    guard let next = ready.popLast() else { return need(.one) }
    begin(Trial(next, within: PoolLimits.patienceWithOthers, hasStoodBy: true, at: now), as: .proving)
  }

  // MARK: Idle tunnels

  /// Looks for tunnels to end, now and for as long as exchanges wait for their turn.
  private mutating func reclaimTunnels(at now: NIODeadline) {
    if Connection.isMultiplexed, reclaimAt == nil, want == .turn { reclaimAt = now }
  }
}

/// The constants of all pools.
enum PoolLimits {
  /// How long after the last exchange the search for a better link ends.
  static let searching = TimeAmount.minutes(1)
  /// How many connections stand by. Further ones are drained; a drained gateway dials again as the newest, and so on, so this should be
  /// enough.
  static let mostOthers = 7
  /// How long the connection of a gateway that dials may take for its first answer.
  static let patienceWithGateways = TimeAmount.seconds(5)
  /// How long a connection that has stood by may take to answer.
  static let patienceWithOthers = TimeAmount.seconds(2)
  /// The interval of the search for such tunnels.
  static let reclaiming = TimeAmount.seconds(1)
}
