import Byway
import BywayPrimitives
public import Logging

/// A recorder that logs one line for each exchange.
public struct LogRecorder: TraceRecorder {
  private let logger: Logger
  private let level: Logger.Level

  /// Creates a recorder for a log.
  /// - Parameters:
  ///   - logger: The logger for the lines.
  ///   - level: The level of exchanges without a failure; others are at least warnings.
  public init(_ logger: Logger, level: Logger.Level = .info) {
    self.logger = logger
    self.level = level
  }

  public func record(_ exchange: TracedExchange) {
    var metadata: Logger.Metadata = [
      "duration": "\(exchange.duration.milliseconds) ms", "wait": "\(exchange.waiting.milliseconds) ms",
      "sent": "\(exchange.requestBody.length)", "received": "\(exchange.responseBody.length)",
    ]
    if let failure = exchange.failure { metadata["failure"] = "\(failure)" }
    let status = exchange.response.map { "\($0.status.code)" } ?? "no answer"
    logger.log(
      level: exchange.failure == nil ? level : max(level, .warning),
      "\("\(exchange.request.method) \(exchange.url)".visible): \(status)", metadata: metadata)
  }
}

extension Duration {
  /// The time in milliseconds, to a thousandth.
  var milliseconds: Double {
    let microseconds = components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    return Double(microseconds) / 1000
  }
}
