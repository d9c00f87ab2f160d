import HTTPTypes
import HTTPWire
package import Primitives

extension StoredResponse {
  var control: CacheControl { CacheControl(fields) }

  /// RFC 9110 §6.6.1: one without a date got it when it came.
  var date: WallTime { fields[.date].flatMap(WallTime.init(httpDate:)) ?? received }

  /// RFC 9111 §4.2.3.
  package func age(at now: WallTime) -> Duration {
    let apparent = max(received - date, .zero)
    let claimed = fields[values: .age].first.flatMap { ListMembers($0).first { _ in true } }
    let corrected = Duration.seconds(CacheControl.seconds(claimed) ?? 0) + max(received - requested, .zero)
    return max(apparent, corrected) + max(now - received, .zero)
  }
}

extension CacheRules {
  /// How long a response has been stale; negative: fresh still.
  func staleness(of stored: StoredResponse, at now: WallTime) -> Duration {
    stored.age(at: now) - lifetime(of: stored)
  }

  /// How long it is fresh, from its making at the origin on (RFC 9111 §4.2.1).
  private func lifetime(of stored: StoredResponse) -> Duration {
    if let explicit = explicitLifetime(of: stored) { return explicit }
    guard Self.isHeuristic(stored.status) || stored.control.contains("public"),
      let modified = stored.fields[.lastModified].flatMap(WallTime.init(httpDate:)), modified < stored.date
    else { return .zero }
    // What has not changed for ten days will hardly change in one (§4.2.2).
    return min((stored.date - modified) / 10, .seconds(86_400))
  }

  private func explicitLifetime(of stored: StoredResponse) -> Duration? {
    let control = stored.control
    if kind == .shared, let maximum = control["s-maxage"] { return maximum }
    if let maximum = control["max-age"] { return maximum }
    guard let expires = stored.fields[.expires] else { return nil }
    // Whatever is not a date, as two of them are not, is in the past (§5.3).
    return WallTime(httpDate: expires).map { max($0 - stored.date, .zero) } ?? .zero
  }
}
