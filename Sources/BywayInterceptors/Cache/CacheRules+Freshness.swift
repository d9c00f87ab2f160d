import BywayHTTPWire
package import BywayPrimitives
import HTTPTypes

extension StoredResponse {
  var control: CacheControl { CacheControl(fields) }

  /// The date; without one, the time when the response arrived (RFC 9110 §6.6.1).
  var date: WallTime { fields[.date].flatMap(WallTime.init(httpDate:)) ?? received }

  /// Returns the response's age (RFC 9111 §4.2.3).
  package func age(at now: WallTime) -> Duration {
    let apparent = max(received - date, .zero)
    let claimed = fields[values: .age].first.flatMap { ListMembers($0).first { _ in true } }
    let corrected = Duration.seconds(CacheControl.seconds(claimed) ?? 0) + max(received - requested, .zero)
    return max(apparent, corrected) + max(now - received, .zero)
  }
}

extension CacheRules {
  /// Returns how long a response has been stale; negative while it is fresh.
  func staleness(of stored: StoredResponse, at now: WallTime) -> Duration {
    stored.age(at: now) - lifetime(of: stored)
  }

  /// Returns how long it is fresh, from its creation at the origin (RFC 9111 §4.2.1).
  private func lifetime(of stored: StoredResponse) -> Duration {
    if let explicit = explicitLifetime(of: stored) { return explicit }
    guard Self.isHeuristic(stored.status) || stored.control.contains("public"),
      let modified = stored.fields[.lastModified].flatMap(WallTime.init(httpDate:)), modified < stored.date
    else { return .zero }
    // Content that has not changed for ten days is unlikely to change in one (§4.2.2).
    return min((stored.date - modified) / 10, .seconds(86_400))
  }

  private func explicitLifetime(of stored: StoredResponse) -> Duration? {
    let control = stored.control
    if kind == .shared, let maximum = control["s-maxage"] { return maximum }
    if let maximum = control["max-age"] { return maximum }
    guard let expires = stored.fields[.expires] else { return nil }
    // Anything that is not a date, such as two dates, is in the past (§5.3).
    return WallTime(httpDate: expires).map { max($0 - stored.date, .zero) } ?? .zero
  }
}
