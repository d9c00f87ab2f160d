import Byway
import Logging
import NIOCore
import Primitives

/// Makes lines of records and writes them, and says once in a while how many were lost.
///
/// `@unchecked Sendable`: touched by the queue of its ``AccessLog`` only.
final class AccessLogWriter: @unchecked Sendable {
  private static let noticeInterval = TimeAmount.seconds(60)

  private var file: AccessLogFile
  private let format: AccessLogFormat
  private let logger: Logger
  private let told: @Sendable (Int) -> Void
  private var lines: [UInt8] = []
  private var line = AccessLogLine()
  private var lost = 0
  private var nextNotice = NIODeadline.uptimeNanoseconds(0)

  init(_ file: AccessLogFile, _ format: AccessLogFormat, logger: Logger, lost: @escaping @Sendable (Int) -> Void) {
    self.file = file
    self.format = format
    self.logger = logger
    told = lost
  }

  /// - Parameter lost: exchanges that found no room.
  func write(_ records: [ExchangeRecord], lost: Int) {
    line.synchronize(monotonic: .now(), sinceEpoch: .sinceEpoch)
    lines.removeAll(keepingCapacity: true)
    for record in records { line.append(record, format, to: &lines) }
    let outcome = file.write(lines)
    tell(lost + outcome.lost, outcome.reason.map { "\($0)" } ?? "more lines than can be written")
  }

  func reopen() {
    do throws(SystemError) {
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
    let now = NIODeadline.now()
    guard now >= nextNotice else { return }
    logger.warning("The access log has lost lines", metadata: ["count": "\(lost)", "reason": "\(reason)"])
    lost = 0
    nextNotice = now + Self.noticeInterval
  }
}
