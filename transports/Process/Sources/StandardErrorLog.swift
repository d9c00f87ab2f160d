import Byway
import BywayPrimitives
import Logging
import NIOCore
import Synchronization

/// Logs a child's standard error line by line, and keeps the last line, which usually gives the reason why the child ended.
/// Safe on any thread.
final class StandardErrorLog: Sendable {
  /// The maximum line length; the rest of a line is dropped.
  static let lineLimit = 1_000

  private let name: String
  private let logger: Logger
  private let last = Mutex<String?>(nil)
  private let quota = Mutex(LineQuota())

  init(name: String, logger: Logger) {
    self.name = name
    self.logger = logger
  }

  var lastLine: String? { last.withLock { $0 } }

  func append(_ line: String) {
    guard !line.isEmpty else { return }
    last.withLock { $0 = line }
    let now = NIODeadline.now()
    reportLeftOut(at: now)
    if quota.withLock({ $0.admit(at: now) }) { logger.notice("\(name): \(line)") }
  }

  /// When ``reportLeftOut(at:)`` has something to report; `nil` if it has nothing.
  var reportTime: NIODeadline? { quota.withLock(\.reportTime) }

  /// Logs how many lines were left out, if their time has come.
  func reportLeftOut(at now: NIODeadline) {
    let count = quota.withLock { quota in
      guard let time = quota.reportTime, now >= time else { return 0 }
      return quota.takeLeftOut()
    }
    if count > 0 { logger.notice("\(name): \(count) more \(count == 1 ? "line" : "lines") left out") }
  }
}

extension Channel {
  func addStandardErrorHandler(_ log: StandardErrorLog) -> EventLoopFuture<Void> {
    eventLoop.makeCompletedFuture {
      try pipeline.syncOperations.addHandler(StandardErrorHandler(log: log))
    }
  }
}

private final class StandardErrorHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let log: StandardErrorLog
  private var line: [UInt8] = []
  private var isCut = false
  private var report: Scheduled<Void>?

  init(log: StandardErrorLog) {
    self.log = log
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    for byte in unwrapInboundIn(data).readableBytesView {
      switch byte {
      case UInt8(ascii: "\n"): finishLine()
      case UInt8(ascii: "\r"): break
      case _ where line.count == StandardErrorLog.lineLimit: isCut = true
      default: line.append(byte)
      }
    }
    if report == nil, let time = log.reportTime { scheduleReport(at: time, context.eventLoop) }
  }

  private func scheduleReport(at time: NIODeadline, _ eventLoop: any EventLoop) {
    report = eventLoop.assumeIsolated().scheduleTask(deadline: time) {
      self.report = nil
      self.log.reportLeftOut(at: time)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    finishLine()
    report?.cancel()
    log.reportLeftOut(at: .distantFuture)
    context.fireChannelInactive()
  }

  private func finishLine() {
    log.append(String(decoding: line, as: UTF8.self).visible + (isCut ? "…" : ""))
    line.removeAll(keepingCapacity: true)
    isCut = false
  }
}
