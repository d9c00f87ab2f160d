import Logging
import NIOCore

/// The log messages and counters of a link. Why it cannot be opened is logged once, and again after ten seconds or for another reason:
/// requests cause many attempts, and each of them fails.
struct LinkLog {
  private let logger: Logger
  private let name: String
  private var reason: String?
  private var failures = SparseLog()
  private let shared: SharedSparseLog?
  private(set) var counts = LinkCounts()

  /// - Parameter shared: counts its failures together with those of other links.
  init(_ logger: Logger, name: String, shared: SharedSparseLog? = nil) {
    self.logger = logger
    self.name = name
    self.shared = shared
  }

  mutating func opened() {
    counts.openings += 1
    reason = nil
    logger.info("Link open", metadata: ["link": "\(name)"])
  }

  func closed() {
    logger.info("Link closed", metadata: ["link": "\(name)"])
  }

  func replaced() {
    logger.notice("Another gateway has dialed and is used from now on", metadata: ["link": "\(name)"])
  }

  mutating func lost(_ error: BywayError) {
    counts.losses += 1
    logger.warning("Link lost", metadata: ["link": "\(name)", "reason": "\(error)"])
  }

  /// - Parameter isUrgent: whether an exchange waits for it. Otherwise the same reason is not logged again.
  mutating func unavailable(_ error: BywayError, isUrgent: Bool = true, at now: NIODeadline) {
    counts.failures += 1
    if !isUrgent, reason == "\(error)" { return }
    if reason != "\(error)" { failures = SparseLog() }
    reason = "\(error)"
    let admission = if let shared { shared.admit(at: now) } else { failures.admit(at: now) }
    guard let keptBack = admission else { return }
    var metadata: Logger.Metadata = ["link": "\(name)", "reason": "\(error)"]
    if keptBack > 0 { metadata["repeated"] = "\(keptBack)" }
    logger.warning("Link unavailable", metadata: metadata)
  }
}
