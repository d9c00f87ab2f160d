import HTTPWire
import NIOCore

/// Who observes the exchanges of a listener, or of a client.
package struct Observation: Sendable {
  private let observers: [any ExchangeObserver]
  private let watcher: (any ExchangeWatching)?
  private let role: ExchangeRecord.Role
  /// Empty for a client.
  private let listener: String
  /// `nil` where nobody wants ids.
  private let traces: TraceSource?

  /// `nil` where nobody does: then an exchange costs nothing more.
  package init?(_ observers: [any ExchangeObserver], listener: String, traces: TraceSource) {
    if observers.isEmpty { return nil }
    self.observers = observers
    watcher = observers.lazy.compactMap { $0 as? any ExchangeWatching }.first
    role = .server
    self.listener = listener
    self.traces = observers.contains(where: \.wantsID) ? traces : nil
  }

  /// Of a client's own exchanges; `nil` where nobody observes them.
  init?(ofClient observers: [any ExchangeObserver]) {
    if observers.isEmpty { return nil }
    self.observers = observers
    watcher = observers.lazy.compactMap { $0 as? any ExchangeWatching }.first
    role = .client
    listener = ""
    traces = observers.contains(where: \.wantsID) ? TraceSource() : nil
  }

  /// An exchange begins; its request gets an id where it has none and somebody wants it.
  /// - Parameter isComplete: the request ends with its head.
  func begin(
    _ fields: inout FieldSection, _ version: ExchangeRecord.Version, isComplete: Bool
  ) -> ObservedExchange {
    let trace = traces.map { TraceContext.settle(&fields, $0) } ?? TraceContext.read(of: fields)
    return begin(fields, version, isComplete: isComplete, trace: trace)
  }

  /// What came is not a request.
  func begin(_ version: ExchangeRecord.Version) -> ObservedExchange {
    begin(FieldSection(), version, isComplete: false, trace: nil)
  }

  private func begin(
    _ fields: FieldSection, _ version: ExchangeRecord.Version, isComplete: Bool, trace: TraceID?
  ) -> ObservedExchange {
    var record = ExchangeRecord(
      role: role, listener: listener, version: version, head: fields, trace: trace, begun: .now())
    if isComplete { record.requestEnded = record.begun }
    return ObservedExchange(record, observers: observers, watcher: watcher)
  }
}
