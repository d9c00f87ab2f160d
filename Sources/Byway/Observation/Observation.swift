import BywayHTTPWire
package import NIOCore

/// The observers of the exchanges of a listener, or of a client.
package final class Observation: Sendable {
  private let observers: [any ExchangeObserver]
  private let watcher: (any ExchangeWatching)?
  private let role: ExchangeRecord.Role
  /// Empty for a client.
  private let listener: String
  private let peer: ExchangePeer?
  /// `nil` if no observer wants ids.
  private let traces: TraceSource?

  /// Returns `nil` without observers: then exchanges have no extra cost.
  /// - Parameter channel: the connection on which the exchanges arrive; `nil` if they are this process's own, or from tunnels.
  package init?(
    _ observers: [any ExchangeObserver], listener: String, traces: TraceSource, of channel: (any Channel)? = nil
  ) {
    if observers.isEmpty { return nil }
    self.observers = observers
    watcher = observers.lazy.compactMap { $0 as? any ExchangeWatching }.first
    role = .server
    self.listener = listener
    peer = channel.flatMap { ExchangePeer(of: $0) }
    self.traces = observers.contains(where: \.wantsID) ? traces : nil
  }

  private init(_ other: Observation, from peer: ExchangePeer?) {
    observers = other.observers
    watcher = other.watcher
    role = other.role
    listener = other.listener
    self.peer = peer
    traces = other.traces
  }

  /// Returns the observation of exchanges in a tunnel, which come from the peer that opened it.
  package func from(_ peer: ExchangePeer?) -> Observation { Observation(self, from: peer) }

  /// Creates the observation of a client's own exchanges; `nil` without observers.
  init?(ofClient observers: [any ExchangeObserver]) {
    if observers.isEmpty { return nil }
    self.observers = observers
    watcher = observers.lazy.compactMap { $0 as? any ExchangeWatching }.first
    role = .client
    listener = ""
    peer = nil
    traces = observers.contains(where: \.wantsID) ? TraceSource() : nil
  }

  /// Begins the record of an exchange. Its request gets an id if it has none and an observer wants it.
  /// - Parameter isComplete: whether the request ends with its head.
  func begin(
    _ fields: inout FieldSection, _ version: ExchangeRecord.Version, isComplete: Bool
  ) -> ObservedExchange {
    let trace = traces.map { TraceContext.settle(&fields, $0) } ?? TraceContext.read(of: fields)
    return begin(fields, version, isComplete: isComplete, trace: trace)
  }

  /// Begins the record of input that is not a request.
  func begin(_ version: ExchangeRecord.Version) -> ObservedExchange {
    begin(FieldSection(), version, isComplete: false, trace: nil)
  }

  private func begin(
    _ fields: FieldSection, _ version: ExchangeRecord.Version, isComplete: Bool, trace: TraceID?
  ) -> ObservedExchange {
    var record = ExchangeRecord(
      role: role, listener: listener, peer: peer, version: version, head: fields, trace: trace, begun: .now())
    if isComplete { record.requestEnded = record.begun }
    return ObservedExchange(consume record, observers: observers, watcher: watcher)
  }
}
