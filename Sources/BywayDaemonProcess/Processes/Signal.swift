import BywayLibC
@preconcurrency import Dispatch

/// A signal to this process.
package struct Signal: Sendable, Hashable, CustomStringConvertible {
  let number: CInt
  package let description: String

  package static let hangUp = Signal(number: SIGHUP, description: "SIGHUP")
  package static let interrupt = Signal(number: SIGINT, description: "SIGINT")
  package static let terminate = Signal(number: SIGTERM, description: "SIGTERM")
  static let user1 = Signal(number: SIGUSR1, description: "SIGUSR1")
  static let user2 = Signal(number: SIGUSR2, description: "SIGUSR2")

  /// The most signals to buffer; more in a row add no information.
  private static let limit = 8
  private static let queue = DispatchQueue(label: "byway.signals")

  /// Returns the signals that arrive after this returns, until the stream is released. They have no other effect on the process.
  package static func arrivals(of signals: [Signal]) async -> AsyncStream<Signal> {
    let (arrivals, arrival) = AsyncStream.makeStream(of: Signal.self, bufferingPolicy: .bufferingOldest(limit))
    var sources: [any DispatchSourceSignal] = []
    for signal in signals {
      let source = DispatchSource.makeSignalSource(signal: signal.number, queue: queue)
      source.setEventHandler { arrival.yield(signal) }
      await withCheckedContinuation { registered in
        source.setRegistrationHandler { registered.resume() }
        source.resume()
      }
      sources.append(source)
    }
    arrival.onTermination = { [sources] _ in
      for source in sources { source.cancel() }
    }
    return arrivals
  }
}
