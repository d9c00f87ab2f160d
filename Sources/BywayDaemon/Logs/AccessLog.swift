import Byway
import BywayLibC
import Dispatch
import Logging
import Synchronization

/// An access log: one line for each exchange that has ended, written within a second on a separate thread.
///
/// A line is formatted when its exchange ends, while its data is in the processor's cache: keeping the exchange until later costs
/// several times as much. The buffer is bounded: if a disk is full or a reader slow, lines are lost and counted, but requests are
/// not delayed. Safe on any thread.
final class AccessLog: ExchangeObserver, ExchangeReader {
  /// A power of two, and more than most machines have event loops.
  private static let pageCount = 16
  /// Few long writes cost less than many short ones.
  private static let delay = DispatchTimeInterval.milliseconds(250)
  /// How long the end of the log waits for a reader.
  private static let patience = DispatchTimeInterval.seconds(2)

  private let pages: [AccessLogPage]
  private let isScheduled = Atomic(false)
  private let worker = DispatchQueue(label: "byway.access-log")
  private let writer: AccessLogWriter

  /// - Parameter lost: Is called with the number of lost lines, on the log's thread.
  /// - Throws: ``CommandFailure`` if the file cannot be opened.
  init(_ path: String, _ format: AccessLogFormat, logger: Logger, lost: @escaping @Sendable (Int) -> Void) throws {
    writer = try AccessLogWriter(AccessLogFile(path), logger: logger, lost: lost)
    pages = (0..<Self.pageCount).map { _ in AccessLogPage(format) }
  }

  var wantsID: Bool { true }

  func exchangeEnded(_ exchange: ExchangeRecord) { ended(exchange.state) }

  var readsOnlyEnds: Bool { true }

  func began(_ exchange: ExchangeRecord.State) {}
  func sent(_ exchange: ExchangeRecord.State) {}

  func ended(_ exchange: ExchangeRecord.State) {
    let page = pages[Self.place(of: pthread_self())]
    switch page.add(exchange) {
    case .nothing: break
    case .writeSoon:
      guard !isScheduled.exchange(true, ordering: .relaxed) else { return }
      worker.asyncAfter(deadline: .now() + Self.delay) {
        self.isScheduled.store(false, ordering: .relaxed)
        self.write()
      }
    case .writeNow: worker.async { self.writer.write(page) }
    }
  }

  /// Returns the page of a thread. Two threads may share one and wait for each other now and then; the lines of one thread stay in
  /// order.
  private static func place(of thread: pthread_t) -> Int {
    // Threads are a stack apart; the upper bits of the product depend on all of their bits (Knuth, vol. 3, §6.4).
    Int(((UInt64(thread) >> 12) &* 0x9E37_79B9_7F4A_7C15) >> 60)
  }

  /// Continues in a new file of the same name, after the old one was renamed.
  func reopen() {
    worker.async {
      // Exchanges that ended before belong to the old file.
      self.write()
      self.writer.reopen()
    }
  }

  /// Writes the remaining lines. Waits for a reader up to a time limit.
  func finish() async {
    await worker.run(within: Self.patience) { self.write() }
  }

  private func write() {
    for page in pages { writer.write(page) }
  }
}
