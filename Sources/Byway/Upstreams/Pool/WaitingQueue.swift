import NIOCore

/// An exchange that has no connection yet, or has lost it.
protocol WaitingExchange: AnyObject {
  /// Increases with each exchange at the upstream.
  var arrival: UInt64 { get }
  var client: ClientKey { get }
  /// The share of its client; set by the queue.
  var share: ClientShare? { get set }
  /// When its next time limit is due.
  var nextDeadline: NIODeadline? { get }
  /// Whether it can be sent again in full if it is lost with a kept-alive connection.
  var isRepeatable: Bool { get }
  /// Whether a connection carries it.
  var isPlaced: Bool { get }
  /// When bytes last passed in either direction, if it is an open tunnel.
  var lastTraffic: NIODeadline? { get }
  /// Whether its last attempt failed on that connection.
  func hasFailed(on connection: AnyObject) -> Bool
}

/// The exchanges that wait for a connection. The client with the fewest exchanges on connections is next, and its first exchange by
/// arrival. An exchange that must be sent again has its old place.
///
/// The queue counts the running exchanges of clients only while more than one client waits. An exchange that ends leaves the queue.
struct WaitingQueue<Exchange: WaitingExchange> {
  /// The number of remembered clients above which those without exchanges are forgotten.
  private static var memory: Int { 1024 }

  /// The exchanges in the order of arrival.
  private(set) var exchanges = CircularBuffer<Exchange>()
  /// No time limit is due earlier.
  private(set) var earliest = NIODeadline.distantFuture
  private var shares: [ClientKey: ClientShare] = [:]
  private var cleanUpAt = WaitingQueue.memory
  private var waitingClients = 0
  private var turns: UInt64 = 0
  private(set) var isCounted = false

  var count: Int { exchanges.count }
  var isEmpty: Bool { exchanges.isEmpty }
  /// The exchange whose turn is next.
  var next: Exchange? { nextPlace { _ in true }.map { exchanges[$0] } }

  mutating func insert(_ exchange: Exchange) {
    let share = share(of: exchange.client)
    if share.waiting == 0 { waitingClients += 1 }
    share.waiting += 1
    exchange.share = share
    exchanges.insert(exchange, at: place(of: exchange.arrival))
    note(exchange)
  }

  mutating func popNext(where isServed: (Exchange) -> Bool = { _ in true }) -> Exchange? {
    guard let place = nextPlace(where: isServed) else { return nil }
    let exchange = take(place)
    turns += 1
    exchange.share?.lastTurn = turns
    return exchange
  }

  mutating func remove(_ exchange: Exchange) {
    if isEmpty { return }
    let place = place(of: exchange.arrival)
    if place < exchanges.endIndex, exchanges[place] === exchange { take(place) }
  }

  /// Returns the exchange to drop when the queue is full: the last one of the client with the most exchanges, or the new one.
  func exchangeToDrop(for newExchange: Exchange) -> Exchange {
    let own = shares[newExchange.client]?.waiting ?? 0
    // Usually that client is the sender of the new one, and no search is needed.
    guard (own + 1) * waitingClients < count, let most = shares.values.max(by: { $0.waiting < $1.waiting }) else {
      return newExchange
    }
    return exchanges.last { $0.share === most } ?? newExchange
  }

  /// Reads the time limits of all exchanges again.
  mutating func noteDeadlines() {
    earliest = .distantFuture
    for exchange in exchanges { note(exchange) }
  }

  private mutating func note(_ exchange: Exchange) {
    if let deadline = exchange.nextDeadline, deadline < earliest { earliest = deadline }
  }

  @discardableResult
  private mutating func take(_ place: CircularBuffer<Exchange>.Index) -> Exchange {
    let exchange = exchanges.remove(at: place)
    if let share = exchange.share {
      share.waiting -= 1
      if share.waiting == 0 { waitingClients -= 1 }
    }
    if exchanges.isEmpty {
      shares = [:]
      isCounted = false
      earliest = .distantFuture
    }
    return exchange
  }

  // MARK: The next turn

  private func nextPlace(where isServed: (Exchange) -> Bool) -> CircularBuffer<Exchange>.Index? {
    if waitingClients < 2 { return exchanges.firstIndex(where: isServed) }
    var best: (place: CircularBuffer<Exchange>.Index, share: ClientShare)?
    for place in exchanges.indices {
      guard let share = exchanges[place].share, best.map({ ClientShare.comesFirst(share, $0.share) }) ?? true,
        isServed(exchanges[place])
      else { continue }
      best = (place, share)
    }
    return best?.place
  }

  /// The shares of all clients with exchanges, running or waiting.
  var sharesInUse: [ClientShare] { shares.values.filter { $0.running + $0.waiting > 0 } }

  /// Whether the next turn depends on the running exchanges, and these have not been counted. Without a count, those count that have had a
  /// turn since the queue was last empty.
  var needsCount: Bool { waitingClients > 1 && !isCounted }

  mutating func count(_ running: [Exchange]) {
    isCounted = true
    for share in shares.values { share.running = 0 }
    for exchange in running {
      let share = share(of: exchange.client)
      share.running += 1
      exchange.share = share
    }
  }

  private mutating func share(of client: ClientKey) -> ClientShare {
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
