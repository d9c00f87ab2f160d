import Byway
import Dispatch
import Glibc
import Logging
import Synchronization

/// Writes one line for each exchange that has ended, within a second, on a thread of its own.
///
/// A line is made where its exchange ends, while all that it tells of is in the processor's cache: to keep the exchange until later
/// costs several times as much. What waits to be written is bounded: where a disk is full, or a reader slow, lines are lost and
/// counted, and requests are not. Safe on any thread.
final class AccessLog: ExchangeObserver {
  /// A power of two, and more than most machines have event loops.
  private static let pageCount = 16
  /// Few long writes are cheaper than many short ones.
  private static let delay = DispatchTimeInterval.milliseconds(250)
  /// How long an end waits for a reader.
  private static let patience = DispatchTimeInterval.seconds(2)

  private let pages: [AccessLogPage]
  private let isScheduled = Atomic(false)
  private let worker = DispatchQueue(label: "byway.access-log")
  private let writer: AccessLogWriter

  /// - Parameter lost: told how many lines were lost, on the thread of the log.
  /// - Throws: ``CommandFailure`` where the file cannot be opened.
  init(_ path: String, _ format: AccessLogFormat, logger: Logger, lost: @escaping @Sendable (Int) -> Void) throws {
    writer = try AccessLogWriter(AccessLogFile(path), logger: logger, lost: lost)
    pages = (0..<Self.pageCount).map { _ in AccessLogPage(format) }
  }

  var wantsID: Bool { true }

  func exchangeEnded(_ exchange: ExchangeRecord) {
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

  /// The page of a thread. Two may have the same one, and wait for each other now and then; lines of one thread stay in their order.
  private static func place(of thread: pthread_t) -> Int {
    // Threads lie a stack apart; the upper bits of the product depend on all of theirs (Knuth, vol. 3, §6.4).
    Int(((UInt64(thread) >> 12) &* 0x9E37_79B9_7F4A_7C15) >> 60)
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
    await worker.run(within: Self.patience) { self.write() }
  }

  private func write() {
    for page in pages { writer.write(page) }
  }
}
