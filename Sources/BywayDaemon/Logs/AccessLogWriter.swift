import BywayPrimitives
import Logging
import NIOCore

/// A writer of pages of lines to their file. It reports the number of lost lines at intervals.
///
/// `@unchecked Sendable`: only the queue of its ``AccessLog`` uses it.
final class AccessLogWriter: @unchecked Sendable {
  private static let noticeInterval = TimeAmount.seconds(60)

  private var file: AccessLogFile
  private let logger: Logger
  private let told: @Sendable (Int) -> Void
  private let now: @Sendable () -> NIODeadline
  private var lines = LineBuffer()
  private var lost = 0
  private var nextNotice = NIODeadline.uptimeNanoseconds(0)

  /// - Parameters:
  ///   - now: The clock for the notices.
  ///   - lost: Is called with the number of lost lines.
  init(
    _ file: AccessLogFile, logger: Logger, now: @escaping @Sendable () -> NIODeadline = { .now() },
    lost: @escaping @Sendable (Int) -> Void
  ) {
    self.file = file
    self.now = now
    self.logger = logger
    told = lost
  }

  func write(_ page: AccessLogPage) {
    let lost = page.take(&lines)
    let outcome = lines.withBytes { file.write($0) }
    tell(lost + outcome.lost, outcome.reason.map { "\($0)" } ?? "more lines than can be written")
  }

  func reopen() {
    do throws(FileRefusal) {
      try file.reopen()
    } catch {
      logger.error(
        "The access log cannot be opened again; lines go to the old file", metadata: ["reason": "\(error)"])
    }
  }

  private func tell(_ more: Int, _ reason: String) {
    guard more > 0 else { return }
    told(more)
    lost += more
    let now = now()
    guard now >= nextNotice else { return }
    logger.warning("The access log has lost lines", metadata: ["count": "\(lost)", "reason": "\(reason)"])
    lost = 0
    nextNotice = now + Self.noticeInterval
  }
}
