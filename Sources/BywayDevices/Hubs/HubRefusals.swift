package import Byway
package import NIOCore

/// The latest refusals of a hub, the most recent first: a few different ones, each with its number. A value.
package struct HubRefusals: Sendable {
  private static let limit = 8
  /// How many new refusals have a line of their own in the log within ``burst``: any peer that can dial causes them.
  private static let mostNew = 8
  private static let burst = TimeAmount.seconds(10)

  private struct Entry: Sendable {
    var report: HubReport.Refusal
    var log = RecurrenceLog()
  }

  private var entries: [Entry] = []
  private var burstEnd = NIODeadline.uptimeNanoseconds(0)
  private var newInBurst = 0

  package init() {}

  package var reports: [HubReport.Refusal] { entries.map(\.report) }

  /// Records a refusal.
  /// - Returns: its use in the log.
  @discardableResult
  package mutating func note(_ refusal: ClientRefusal, at now: NIODeadline) -> RecurrenceLog.Entry {
    let known = entries.firstIndex { $0.report.refusal == refusal }
    var entry =
      known.map { entries.remove(at: $0) } ?? Entry(report: HubReport.Refusal(refusal: refusal, count: 0, at: 0))
    entry.report.count += 1
    entry.report.at = .secondsSinceEpoch(of: now)
    let use = entry.log.failed(because: refusal.reason, at: now)
    entries.insert(entry, at: 0)
    if entries.count > Self.limit { entries.removeLast() }
    return known != nil || admitsNew(at: now) ? use : .repetition
  }

  private mutating func admitsNew(at now: NIODeadline) -> Bool {
    if now >= burstEnd {
      burstEnd = now + Self.burst
      newInBurst = 0
    }
    newInBurst += 1
    return newInBurst <= Self.mostNew
  }
}
