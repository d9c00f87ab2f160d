import Byway
import HTTPTypes
import Synchronization

/// The running exchanges of a plugin, by their tokens. Safe on any thread.
final class RunningExchanges: Sendable {
  /// The place of an exchange in the table, which it leaves with the last reference.
  final class Entry: Sendable {
    let token: String
    let exchange: PluginExchange
    private let table: RunningExchanges

    fileprivate init(_ token: String, _ exchange: PluginExchange, _ table: RunningExchanges) {
      self.token = token
      self.exchange = exchange
      self.table = table
    }

    deinit {
      table.remove(token)
    }
  }

  private struct State {
    var running: [String: PluginExchange] = [:]
    /// The callers that wait for the end of all exchanges.
    var waiters: [AsyncStream<Void>.Continuation] = []
    var isClosed = false
  }

  static let ended = BywayError(
    .forbidden, "The exchange of this request has ended, or never began here.", processing: .none)

  private let state = Mutex(State())

  var count: Int { state.withLock(\.running.count) }

  /// - Returns: `nil` if the table is closed.
  func add(_ exchange: PluginExchange) -> Entry? {
    // 128 bits of the system's generator, which cannot be guessed.
    let token = [UInt64.random(in: .min ... .max), .random(in: .min ... .max)].map { number in
      let digits = String(number, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
    let isAdded = state.withLock { state in
      if !state.isClosed { state.running[token] = exchange }
      return !state.isClosed
    }
    return isAdded ? Entry(token, exchange, self) : nil
  }

  private func remove(_ token: String) {
    let waiters = state.withLock { state in
      state.running[token] = nil
      guard state.running.isEmpty else { return [AsyncStream<Void>.Continuation]() }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.finish() }
  }

  /// Takes no more exchanges.
  /// - Parameter onlyIfEmpty: whether it stays open while there are exchanges.
  /// - Returns: whether it is closed.
  @discardableResult
  func close(onlyIfEmpty: Bool = false) -> Bool {
    state.withLock { state in
      if state.running.isEmpty || !onlyIfEmpty { state.isClosed = true }
      return state.isClosed
    }
  }

  /// Closes the table as soon as there are no exchanges, or returns when the task is cancelled.
  func closeWhenEmpty() async {
    while !close(onlyIfEmpty: true), !Task.isCancelled { await untilEmpty() }
  }

  /// Waits until there are none, or until the task is cancelled.
  func untilEmpty() async {
    let (end, waiter) = AsyncStream.makeStream(of: Void.self)
    let isEmpty = state.withLock { state in
      if !state.running.isEmpty { state.waiters.append(waiter) }
      return state.running.isEmpty
    }
    if isEmpty { return }
    for await _ in end {}
  }

  subscript(token: String) -> PluginExchange? { state.withLock { $0.running[token] } }

  /// Handles a request at the next hop.
  func forward(_ request: Request) async throws -> Response {
    guard let token = request.head.headerFields[.exchange] else {
      throw BywayError(
        .forbidden,
        "The next hop of a plugin takes only requests with the field byway-exchange of a request that the plugin has received.",
        processing: .none)
    }
    guard let exchange = self[token] else {
      throw Self.ended
    }
    return try await exchange.forward(request)
  }
}
