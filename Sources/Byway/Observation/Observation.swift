import HTTPWire
import NIOCore

/// Who observes the exchanges of a listener.
package struct Observation: Sendable {
  private let observers: [any ExchangeObserver]
  private let listener: String
  /// `nil` where nobody wants ids.
  private let traces: TraceSource?

  /// `nil` where nobody does: then an exchange costs nothing more.
  package init?(_ observers: [any ExchangeObserver], listener: String, traces: TraceSource) {
    if observers.isEmpty { return nil }
    self.observers = observers
    self.listener = listener
    self.traces = observers.contains(where: \.wantsID) ? traces : nil
  }

  /// An exchange begins; its request gets an id where it has none and somebody wants it.
  func begin(_ fields: inout FieldSection, _ version: ExchangeRecord.Version) -> ObservedExchange {
    let trace = traces.map { TraceContext.settle(&fields, $0) } ?? TraceContext.read(of: fields)
    return begin(fields, version, trace: trace)
  }

  /// What came is not a request.
  func begin(_ version: ExchangeRecord.Version) -> ObservedExchange {
    begin(FieldSection(), version, trace: nil)
  }

  private func begin(
    _ fields: FieldSection, _ version: ExchangeRecord.Version, trace: TraceID?
  ) -> ObservedExchange {
    ObservedExchange(
      ExchangeRecord(listener: listener, version: version, head: fields, trace: trace, begun: .now()),
      observers: observers)
  }
}
