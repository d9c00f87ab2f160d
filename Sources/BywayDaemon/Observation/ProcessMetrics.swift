import Byway
import BywayLibC
import BywayMetrics
import BywayPrimitives
import CoreMetrics
import Synchronization

/// The metrics that Prometheus expects of every process. They are looked up when they are requested.
final class ProcessMetrics: Sendable {
  private let memory: Meter
  private let descriptors: Meter
  private let held: Meter
  private let limit: Meter
  private let refused: FloatingPointCounter
  private let processorTime: FloatingPointCounter
  /// The values that the counters have already.
  private let seen = Mutex((time: 0.0, refused: 0))

  init(factory: any MetricsFactory) {
    memory = Meter(label: MetricName.residentMemory.label, factory: factory)
    descriptors = Meter(label: MetricName.openDescriptors.label, factory: factory)
    held = Meter(label: MetricName.heldMemory.label, factory: factory)
    limit = Meter(label: MetricName.heldMemoryLimit.label, factory: factory)
    refused = FloatingPointCounter(label: MetricName.heldMemoryRefusals.label, factory: factory)
    processorTime = FloatingPointCounter(label: MetricName.processorTime.label, factory: factory)
    Meter(label: MetricName.build.label, dimensions: [("version", Release.version)], factory: factory).set(1)
    if let start = ProcessFacts.start { Meter(label: MetricName.startTime.label, factory: factory).set(start) }
  }

  func update() {
    if let bytes = ProcessFacts.residentBytes { memory.set(bytes) }
    if let count = ProcessFacts.openDescriptors { descriptors.set(count) }
    let time = ProcessFacts.processorSeconds
    let budget = MemoryBudget.shared
    held.set(budget.held)
    limit.set(budget.limit)
    let count = budget.refused
    let more = seen.withLock { seen in
      defer { seen = (time, count) }
      return (time: time - seen.time, refused: count - seen.refused)
    }
    processorTime.increment(by: more.time)
    refused.increment(by: Double(more.refused))
  }
}

/// Facts about this process, from proc(5).
enum ProcessFacts {
  static var residentBytes: Int? {
    // Pages: the total, and the resident ones.
    let columns = text(of: "/proc/self/statm")?.split(separator: " ")
    guard let columns, columns.count > 1, let pages = Int(columns[1]) else { return nil }
    return pages * Int(sysconf(CInt(_SC_PAGESIZE)))
  }

  static var openDescriptors: Int? {
    guard let folder = opendir("/proc/self/fd") else { return nil }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    // Without "." and "..", and the descriptor of this folder.
    return count - 3
  }

  /// The time in the kernel and in user mode.
  static var processorSeconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
  }

  /// The start of the process, in seconds since the beginning of 1970.
  static var start: Double? {
    // The name may contain any character, and ends at the last parenthesis. The start is 20 columns after it, in ticks since the
    // system's start.
    let columns = text(of: "/proc/self/stat")?.split(separator: ")").last?.split(separator: " ")
    let boot = text(of: "/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }
      .flatMap { Double($0.dropFirst("btime ".count)) }
    guard let columns, columns.count > 19, let ticks = Double(columns[19]), let boot else { return nil }
    return boot + ticks / Double(sysconf(CInt(_SC_CLK_TCK)))
  }

  private static func text(of path: String) -> String? {
    guard let descriptor = try? Descriptor.open(path, O_RDONLY) else { return nil }
    defer { close(descriptor) }
    return (try? Descriptor.read(descriptor, upTo: 1 << 20)).map { String(decoding: $0, as: UTF8.self) }
  }
}
