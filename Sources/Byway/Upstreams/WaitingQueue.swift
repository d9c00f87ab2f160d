import NIOCore

/// An exchange that has no connection yet, or has lost it.
protocol WaitingExchange: AnyObject {
  /// Increases with each exchange at the upstream.
  var arrival: UInt64 { get }
  var client: ClientKey { get }
  /// The share of its client; set by the line.
  var share: ClientShare? { get set }
  var nextDeadline: NIODeadline? { get }
  /// Checks its time limits. If one has passed, it ends and leaves the line.
  func timePassed()
}

/// The exchanges that wait for a connection. The client with the fewest exchanges on connections is next, and its first exchange by
/// arrival. An exchange that must be sent again has its old place.
///
/// The line counts the running exchanges of clients only while more than one client waits. An exchange that ends leaves the line. Lives on
/// its event loop.
final class WaitingQueue<Exchange: WaitingExchange> {
  /// The number of remembered clients above which those without exchanges are forgotten.
  private static var memory: Int { 1024 }

  /// Returns the exchanges that have a connection; `nil`: counts those that have had a turn since the line was last empty.
  var running: (() -> [Exchange])?

  /// The exchanges in the order of arrival.
  private var exchanges = CircularBuffer<Exchange>()
  private var shares: [ClientKey: ClientShare] = [:]
  private var cleanUpAt = WaitingQueue.memory
  private var waitingClients = 0
  private var turns: UInt64 = 0
  private var isCounted = false
  private let eventLoop: any EventLoop
  private lazy var time = EarliestDeadline(on: eventLoop) { [unowned self] in timePassed() }

  init(on eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  var count: Int { exchanges.count }
  var isEmpty: Bool { exchanges.isEmpty }
  /// The first exchange by arrival.
  var first: Exchange? { exchanges.first }
  /// The exchange whose turn is next.
  var next: Exchange? { nextPlace { _ in true }.map { exchanges[$0] } }

  func insert(_ exchange: Exchange) {
    let share = share(of: exchange.client)
    if share.waiting == 0 { waitingClients += 1 }
    share.waiting += 1
    exchange.share = share
    exchanges.insert(exchange, at: place(of: exchange.arrival))
    time.note(exchange.nextDeadline)
  }

  func popNext(where isServed: (Exchange) -> Bool = { _ in true }) -> Exchange? {
    guard let place = nextPlace(where: isServed) else { return nil }
    let exchange = take(place)
    turns += 1
    exchange.share?.lastTurn = turns
    return exchange
  }

  func remove(_ exchange: Exchange) {
    let place = place(of: exchange.arrival)
    if place < exchanges.endIndex, exchanges[place] === exchange { take(place) }
  }

  /// Returns the exchange to drop when the line is full: the last one of the client with the most exchanges, or the new one.
  func exchangeToDrop(for newExchange: Exchange) -> Exchange {
    let own = shares[newExchange.client]?.waiting ?? 0
    // Usually that client is the sender of the new one, and no search is needed.
    guard (own + 1) * waitingClients < count, let most = shares.values.max(by: { $0.waiting < $1.waiting }) else {
      return newExchange
    }
    return exchanges.last { $0.share === most } ?? newExchange
  }

  /// Notifies all exchanges; those that end leave the line.
  func tell(_ news: (Exchange) -> Void) {
    for exchange in Array(exchanges) { news(exchange) }
    // A timer for exchanges that have left would outlive an upstream that is shut down.
    if exchanges.isEmpty { time.clear() }
    for exchange in exchanges { time.note(exchange.nextDeadline) }
  }

  private func timePassed() {
    tell { $0.timePassed() }
  }

  @discardableResult
  private func take(_ place: CircularBuffer<Exchange>.Index) -> Exchange {
    let exchange = exchanges.remove(at: place)
    if let share = exchange.share {
      share.waiting -= 1
      if share.waiting == 0 { waitingClients -= 1 }
    }
    if exchanges.isEmpty {
      shares = [:]
      isCounted = false
    }
    return exchange
  }

  // MARK: The next turn

  private func nextPlace(where isServed: (Exchange) -> Bool) -> CircularBuffer<Exchange>.Index? {
    if waitingClients < 2 { return exchanges.firstIndex(where: isServed) }
    countRunning()
    var best: (place: CircularBuffer<Exchange>.Index, share: ClientShare)?
    for place in exchanges.indices {
      guard let share = exchanges[place].share, best.map({ ClientShare.comesFirst(share, $0.share) }) ?? true,
        isServed(exchanges[place])
      else { continue }
      best = (place, share)
    }
    return best?.place
  }

  /// Returns the shares of all clients with exchanges, running or waiting.
  func sharesInUse() -> [ClientShare] {
    countRunning()
    return shares.values.filter { $0.running + $0.waiting > 0 }
  }

  private func countRunning() {
    guard !isCounted, let running else { return }
    isCounted = true
    for share in shares.values { share.running = 0 }
    for exchange in running() {
      let share = share(of: exchange.client)
      share.running += 1
      exchange.share = share
    }
  }

  private func share(of client: ClientKey) -> ClientShare {
    if let share = shares[client] { return share }
    if shares.count >= cleanUpAt {
      shares = shares.filter { $0.value.running + $0.value.waiting > 0 }
      cleanUpAt = max(Self.memory, 2 * shares.count)
    }
    let share = ClientShare()
    shares[client] = share
    return share
  }

  /// Finds the place of the first exchange that did not arrive earlier.
  private func place(of arrival: UInt64) -> CircularBuffer<Exchange>.Index {
    var (low, count) = (exchanges.startIndex, exchanges.count)
    while count > 0 {
      let half = count / 2
      let middle = exchanges.index(low, offsetBy: half)
      if exchanges[middle].arrival < arrival {
        low = exchanges.index(after: middle)
        count -= half + 1
      } else {
        count = half
      }
    }
    return low
  }
}
