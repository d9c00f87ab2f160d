import HTTPTypes

/// The action of a cache, for the `Cache-Status` field (RFC 9211).
struct CacheStatus {
  private var parameters: [String]

  /// Served without asking the origin.
  static let hit = CacheStatus(parameters: ["hit"])
  /// No response was stored.
  static let miss = CacheStatus(parameters: ["fwd=miss"])
  /// The stored response had to be validated.
  static let stale = CacheStatus(parameters: ["fwd=stale"])
  /// Served stale, because the origin failed.
  static let saved = CacheStatus(parameters: ["hit", "detail=stale-if-error"])

  static func bypass(_ why: String) -> CacheStatus { CacheStatus(parameters: ["fwd=\(why)"]) }

  /// Returns the status with that of the origin's answer.
  func forwarded(_ status: Int) -> CacheStatus { CacheStatus(parameters: parameters + ["fwd-status=\(status)"]) }

  /// Returns the status with the time that the response is still fresh; negative if it is stale.
  func remaining(_ time: Duration) -> CacheStatus {
    CacheStatus(parameters: parameters + ["ttl=\(time.components.seconds)"])
  }

  /// Appends the status after those of caches nearer to the origin.
  func add(to head: inout HTTPResponse) {
    let member = (["byway"] + parameters).joined(separator: "; ")
    head.headerFields.append(HTTPField(name: .cacheStatus, value: member))
  }
}
