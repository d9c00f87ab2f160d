import Synchronization

/// A metric with one set of labels. Safe on any thread, and without a lock, because every request changes about ten of them. So a
/// histogram that is read while a value is added may lack that value in its sum or in its bucket.
///
/// `@unchecked Sendable`: the memory that it points to contains only atomic values, and lives as long as it.
final class Series: @unchecked Sendable {
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
  /// ``State/value``, as its bit pattern.
  private let value = Atomic(0.0.bitPattern)
  /// ``State/counts``
  private let counts: UnsafeMutableBufferPointer<Atomic<UInt64>>

  /// - Parameter buckets: the upper bounds of a histogram's buckets; empty for others.
  init(buckets: [Double]) {
    bounds = buckets
    counts = .allocate(capacity: buckets.count + 1)
    for index in counts.indices { counts.initializeElement(at: index, to: Atomic(0)) }
  }

  deinit {
    counts.deinitialize().deallocate()
  }

  var state: State {
    State(
      value: Double(bitPattern: value.load(ordering: .relaxed)),
      counts: counts.indices.map { counts[$0].load(ordering: .relaxed) })
  }

  func set(_ value: Double) {
    self.value.store(value.bitPattern, ordering: .relaxed)
  }

  func add(_ value: Double) {
    var old = self.value.load(ordering: .relaxed)
    while true {
      let (isExchanged, found) = self.value.weakCompareExchange(
        expected: old, desired: (Double(bitPattern: old) + value).bitPattern, ordering: .relaxed)
      if isExchanged { return }
      old = found
    }
  }

  func observe(_ value: Double) {
    let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
    add(value)
    counts[bucket].wrappingAdd(1, ordering: .relaxed)
  }

  func reset() {
    set(0)
    for index in counts.indices { counts[index].store(0, ordering: .relaxed) }
  }
}
