import HTTPTypes

/// What a cache did, for the `Cache-Status` field (RFC 9211).
struct CacheStatus {
  private var parameters: [String]

  /// Served without asking anybody.
  static let hit = CacheStatus(parameters: ["hit"])
  /// Nothing was stored.
  static let miss = CacheStatus(parameters: ["fwd=miss"])
  /// What was stored had to be asked about.
  static let stale = CacheStatus(parameters: ["fwd=stale"])
  /// Served stale, because the origin failed.
  static let saved = CacheStatus(parameters: ["hit", "detail=stale-if-error"])

  static func bypass(_ why: String) -> CacheStatus { CacheStatus(parameters: ["fwd=\(why)"]) }

  /// The status of the answer that was asked for.
  func forwarded(_ status: Int) -> CacheStatus { CacheStatus(parameters: parameters + ["fwd-status=\(status)"]) }

  /// How long the response is fresh yet; negative: stale.
  func remaining(_ time: Duration) -> CacheStatus {
    CacheStatus(parameters: parameters + ["ttl=\(time.components.seconds)"])
  }

  /// Behind what caches nearer to the origin said.
  func add(to head: inout HTTPResponse) {
    let member = (["byway"] + parameters).joined(separator: "; ")
    head.headerFields.append(HTTPField(name: .cacheStatus, value: member))
  }
}
