import Synchronization

/// A metric with one set of labels. Safe on any thread.
final class Series: Sendable {
  enum Kind: Sendable {
    case counter, gauge
    /// Histograms: of values, and of nanoseconds, which are shown as seconds.
    case recorder, timer

    var isHistogram: Bool {
      switch self {
      case .counter, .gauge: false
      case .recorder, .timer: true
      }
    }
  }

  struct State: Sendable {
    /// The sum in the case of a histogram.
    var value = 0.0
    /// The number of values in each bucket of a histogram; the last bucket has those above all bounds.
    var counts: [UInt64]
  }

  private let bounds: [Double]
  private let mutex: Mutex<State>

  /// - Parameter buckets: the upper bounds of a histogram's buckets; empty for others.
  init(buckets: [Double]) {
    bounds = buckets
    mutex = Mutex(State(counts: Array(repeating: 0, count: buckets.count + 1)))
  }

  var state: State { mutex.withLock { $0 } }

  func set(_ value: Double) {
    mutex.withLock { $0.value = value }
  }

  func add(_ value: Double) {
    mutex.withLock { $0.value += value }
  }

  func observe(_ value: Double) {
    let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
    mutex.withLock { state in
      state.value += value
      state.counts[bucket] += 1
    }
  }

  func reset() {
    mutex.withLock { state in
      state = State(counts: Array(repeating: 0, count: state.counts.count))
    }
  }
}
