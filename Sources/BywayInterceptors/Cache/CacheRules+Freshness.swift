import HTTPTypes

extension StoredResponse {
  var control: CacheControl { CacheControl(fields) }

  /// RFC 9110 §6.6.1: one without a date got it when it came.
  var date: WallTime { fields[.date].flatMap(WallTime.init(httpDate:)) ?? received }

  /// How long it is fresh, from its making at the origin on (RFC 9111 §4.2.1). The cache is private: `s-maxage` is for
  /// others.
  var lifetime: Duration {
    if let explicit = explicitLifetime { return explicit }
    guard CacheRules.isHeuristic(status) || control.contains("public"),
      let modified = fields[.lastModified].flatMap(WallTime.init(httpDate:)), modified < date
    else { return .zero }
    // What has not changed for ten days will hardly change in one (§4.2.2).
    return min((date - modified) / 10, .seconds(86_400))
  }

  private var explicitLifetime: Duration? {
    if let maximum = control["max-age"] { return maximum }
    guard let expires = fields[.expires] else { return nil }
    // Whatever is no date, as two of them are not, is in the past (§5.3).
    return WallTime(httpDate: expires).map { max($0 - date, .zero) } ?? .zero
  }

  /// RFC 9111 §4.2.3.
  func age(at now: WallTime) -> Duration {
    let apparent = max(received - date, .zero)
    let claimed = fields[values: .age].first.flatMap { ListMembers($0).first { _ in true } }
    let corrected = Duration.seconds(CacheControl.seconds(claimed) ?? 0) + max(received - requested, .zero)
    return max(apparent, corrected) + max(now - received, .zero)
  }

  /// How long it has been stale; negative: fresh still.
  func staleness(at now: WallTime) -> Duration { age(at: now) - lifetime }
}
