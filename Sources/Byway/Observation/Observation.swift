import BywayHTTPWire
package import NIOCore

/// The observers of the exchanges of a listener, or of a client.
package final class Observation: Sendable {
  /// The observers that are notified of all exchanges; `nil` if there are none.
  let reader: (any ExchangeReader)?
  /// The observers among them that need more than the ends.
  let stepReader: (any ExchangeReader)?
  let watcher: (any ExchangeObserverFactory)?
  private let arrival: ExchangeRecord.Arrival
  /// `nil` if no observer wants ids.
  private let traces: TraceSource?

  /// Returns `nil` without observers: then exchanges have no extra cost.
  /// - Parameter channel: the connection on which the exchanges arrive; `nil` if they are this process's own, or from tunnels.
  package convenience init?(
    _ observers: [any ExchangeObserver], listener: String, traces: TraceSource, of channel: (any Channel)? = nil
  ) {
    if observers.isEmpty { return nil }
    let peer = channel.flatMap { ExchangePeer(of: $0) }
    self.init(observers, .init(.server, listener: listener, peer: peer), traces)
  }

  /// Creates the observation of a client's own exchanges; `nil` without observers.
  convenience init?(ofClient observers: [any ExchangeObserver]) {
    if observers.isEmpty { return nil }
    self.init(observers, .init(.client, listener: "", peer: nil), TraceSource())
  }

  private init(_ observers: [any ExchangeObserver], _ arrival: ExchangeRecord.Arrival, _ traces: TraceSource) {
    let readers = observers.readers
    reader = readers.joined
    stepReader = readers.lazy.filter { !$0.readsOnlyEnds }.joined
    watcher = observers.lazy.compactMap { $0 as? any ExchangeObserverFactory }.first
    self.arrival = arrival
    self.traces = observers.contains(where: \.wantsID) ? traces : nil
  }

  private init(_ other: Observation, from peer: ExchangePeer?) {
    reader = other.reader
    stepReader = other.stepReader
    watcher = other.watcher
    arrival = .init(other.arrival.role, listener: other.arrival.listener, peer: peer)
    traces = other.traces
  }

  /// Returns the observation of exchanges in a tunnel, which come from the peer that opened it.
  package func from(_ peer: ExchangePeer?) -> Observation { Observation(self, from: peer) }

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
    var values = ExchangeRecord.Values(arrival, version, fields, trace: trace, begun: .now())
    if isComplete { values.requestEnded = values.begun }
    return ObservedExchange(values, by: self)
  }
}
