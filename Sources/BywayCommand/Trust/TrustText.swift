import Byway
import BywayLibC
import BywayPrimitives
import BywayTLS

/// Entries of the trust store as text.
enum TrustText {
  static func block(_ entry: TrustStore.Entry) -> String {
    switch entry.kind {
    case .pin(let pin):
      return "\(entry.host)\n  key          \(pin)\n"
    case .certificate(let facts):
      return block(of: facts, for: entry.host)
    }
  }

  static func block(of facts: CertificateFacts, for host: String) -> String {
    let isOver = facts.expiry < time(nil)
    return """
      \(host)
        names        \(facts.names.isEmpty ? "none" : facts.names.map(\.visible).joined(separator: ", "))
        SHA-256      \(facts.fingerprintText)
        key          \(facts.pin.map(\.description) ?? "unknown")
        valid until  \(date(facts.expiry))\(isOver ? ", which has passed" : "")

      """
  }

  /// Returns the date of a time, in UTC.
  static func date(_ seconds: Int) -> String { CalendarTime(secondsSinceEpoch: seconds).date }
}
