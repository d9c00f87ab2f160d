import NIOCore

/// An exchange that has no connection yet, or none any more.
protocol WaitingExchange: AnyObject {
  /// Counts up with each exchange that comes to the upstream.
  var arrival: UInt64 { get }
  var nextDeadline: NIODeadline? { get }
  /// Lets its time come to an end, if it has; it leaves the line then.
  func timePassed()
}

/// The exchanges that wait for a connection, in the order in which they came: one that has to be sent again has its old place.
///
/// Whatever ends an exchange takes it out. Lives on its event loop.
final class WaitingLine<Exchange: WaitingExchange> {
  private var exchanges = CircularBuffer<Exchange>()
  private let eventLoop: any EventLoop
  private lazy var time = EarliestDeadline(on: eventLoop) { [unowned self] in timePassed() }

  init(on eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  var count: Int { exchanges.count }
  var isEmpty: Bool { exchanges.isEmpty }
  var first: Exchange? { exchanges.first }

  func insert(_ exchange: Exchange) {
    exchanges.insert(exchange, at: place(of: exchange.arrival))
    time.note(exchange.nextDeadline)
  }

  func popFirst() -> Exchange? {
    exchanges.popFirst()
  }

  func popFirst(where isServed: (Exchange) -> Bool) -> Exchange? {
    exchanges.firstIndex(where: isServed).map { exchanges.remove(at: $0) }
  }

  func remove(_ exchange: Exchange) {
    let place = place(of: exchange.arrival)
    if place < exchanges.endIndex, exchanges[place] === exchange { exchanges.remove(at: place) }
  }

  /// Tells each of them something; those that end by it leave.
  func tell(_ news: (Exchange) -> Void) {
    for exchange in Array(exchanges) { news(exchange) }
    for exchange in exchanges { time.note(exchange.nextDeadline) }
  }

  private func timePassed() {
    tell { $0.timePassed() }
  }

  /// Of the first that came no earlier.
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
