package import Byway
package import BywayPrimitives

/// The state of a hub, for reports.
package struct HubReport: Sendable, Hashable {
  /// A refusal and its repetitions.
  package struct Refusal: Sendable, Hashable {
    package let refusal: ClientRefusal
    package internal(set) var count: Int
    /// The time of the latest one, in seconds since 1970.
    package internal(set) var at: Int

    package init(refusal: ClientRefusal, count: Int, at: Int) {
      self.refusal = refusal
      self.count = count
      self.at = at
    }
  }

  /// The address that gateways dial, as bound, without its options.
  package let address: String
  /// The number of connected gateways, including those in standby.
  package let gateways: Int
  /// The latest refusals, the most recent first.
  package let refusals: [Refusal]

  package init(address: String, gateways: Int, refusals: [Refusal]) {
    self.address = address
    self.gateways = gateways
    self.refusals = refusals
  }

  package var json: JSON {
    ["address": .string(address), "gateways": .number(gateways), "refusals": .array(refusals.map(\.json))]
  }
}

extension HubReport.Refusal {
  fileprivate var json: JSON {
    [
      "peer": refusal.address.map { .string($0) },
      "names": refusal.names.isEmpty ? nil : .array(refusal.names.map { .string($0) }),
      "reason": .string(refusal.reason), "at": .string(CalendarTime(secondsSinceEpoch: at).utc),
      "count": .number(count),
    ]
  }
}
