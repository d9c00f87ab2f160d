import Byway
import Dispatch
import Logging
import Synchronization

/// Writes one line for each exchange that has ended, within a second, on a thread of its own.
///
/// An event loop hands over the record and goes on. What waits to be written is bounded: where a disk is full, or a reader slow, lines
/// are lost and counted, and requests are not. Safe on any thread.
final class AccessLog: ExchangeObserver {
  fileprivate struct Queue {
    var records: [ExchangeRecord] = []
    /// Bytes, as far as they count.
    var weight = 0
    var isScheduled = false
    var isUrgent = false
    var lost = 0
  }

  /// Who hands over is to do that.
  fileprivate enum Step {
    case nothing, writeSoon, writeNow
  }

  /// Bytes of records that may wait.
  fileprivate static let limit = 4 << 20
  /// So many are worth a write of their own.
  fileprivate static let portion = limit / 8
  /// Few long writes are cheaper than many short ones.
  private static let delay = DispatchTimeInterval.milliseconds(250)
  /// How long an end waits for a reader.
  private static let patience = DispatchTimeInterval.seconds(2)

  private let queue = Mutex(Queue())
  private let worker = DispatchQueue(label: "byway.access-log")
  private let writer: AccessLogWriter

  /// - Parameter lost: told how many lines were lost, on the thread of the log.
  /// - Throws: ``CommandFailure`` where the file cannot be opened.
  init(_ path: String, _ format: AccessLogFormat, logger: Logger, lost: @escaping @Sendable (Int) -> Void) throws {
    writer = try AccessLogWriter(AccessLogFile(path), format, logger: logger, lost: lost)
  }

  var wantsID: Bool { true }

  func exchangeEnded(_ exchange: ExchangeRecord) {
    let step = queue.withLock { $0.add(exchange) }
    switch step {
    case .nothing: break
    case .writeSoon: worker.asyncAfter(deadline: .now() + Self.delay) { self.write() }
    case .writeNow: worker.async { self.write() }
    }
  }

  /// Goes on in a new file of that name: the old one was renamed.
  func reopen() {
    worker.async {
      // Those that ended before belong to the old one.
      self.write()
      self.writer.reopen()
    }
  }

  /// Writes what is left. A reader that does not read is not waited for any longer.
  func finish() async {
    await withCheckedContinuation { continuation in
      let waiting = Waiting(continuation)
      worker.async {
        self.write()
        waiting.end()
      }
      DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { waiting.end() }
    }
  }

  private func write() {
    let (records, lost) = queue.withLock { $0.take() }
    writer.write(records, lost: lost)
  }
}

extension AccessLog.Queue {
  fileprivate mutating func add(_ exchange: ExchangeRecord) -> AccessLog.Step {
    let weight = MemoryLayout<ExchangeRecord>.size + exchange.head.withUnsafeBytes(\.count)
    guard self.weight + weight <= AccessLog.limit else {
      lost += 1
      return .nothing
    }
    records.append(exchange)
    self.weight += weight
    if self.weight > AccessLog.portion, !isUrgent {
      isUrgent = true
      return .writeNow
    }
    defer { isScheduled = true }
    return isScheduled ? .nothing : .writeSoon
  }

  fileprivate mutating func take() -> (records: [ExchangeRecord], lost: Int) {
    let taken = (records, lost)
    self = AccessLog.Queue()
    return taken
  }
}

/// Whoever ends it first.
private final class Waiting: Sendable {
  private let continuation: Mutex<CheckedContinuation<Void, Never>?>

  init(_ continuation: CheckedContinuation<Void, Never>) {
    self.continuation = Mutex(continuation)
  }

  func end() {
    continuation.withLock { $0.take() }?.resume()
  }
}
