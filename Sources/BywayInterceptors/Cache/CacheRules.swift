package import BywayPrimitives
package import HTTPTypes

/// The rules of a cache (RFC 9111): decisions without storage, clock or network.
package struct CacheRules: Sendable {
  let kind: CacheKind

  package init(kind: CacheKind) {
    self.kind = kind
  }

  /// The treatment of a request.
  package enum Decision: Equatable {
    /// Answer from the cache.
    case serve
    /// Answer from the cache, and validate for the next time (RFC 5861 §3).
    case serveAndRefresh
    /// Ask the origin whether the stored response still holds.
    case validate
    /// Ask the origin as if there were no cache.
    case forward
    /// Only a stored response was wanted, and there is none that may be served: 504 (§5.2.1.7).
    case unsatisfiable
  }

  /// - Parameters:
  ///   - stored: The response that the request selects.
  ///   - isOffline: Whether the origin cannot be reached, and a stored response is better than none (§4.2.4).
  package func decision(
    for request: HTTPRequest, stored: StoredResponse?, now: WallTime, isOffline: Bool = false
  ) -> Decision {
    let wanted = CacheControl(request.headerFields)
    let isConfined = isOffline || wanted.contains("only-if-cached")
    guard let stored, Self.isLookedUp(request) else {
      return isConfined && Self.isSafe(request.method) ? .unsatisfiable : .forward
    }
    let control = stored.control
    if isOffline {
      let isUsable = !isForbidden(control) && (!mustValidate(stored) || staleness(of: stored, at: now) < .zero)
      return isUsable ? .serve : .unsatisfiable
    }
    guard !isForbidden(control), !wanted.contains("no-cache") else {
      return isConfined ? .unsatisfiable : .validate
    }
    let age = stored.age(at: now)
    let staleness = self.staleness(of: stored, at: now)
    let isTooOld = wanted["max-age"].map { age > $0 } ?? false
    let isFreshEnough = staleness < .zero && staleness + (wanted["min-fresh"] ?? .zero) <= .zero
    if isFreshEnough, !isTooOld { return .serve }
    if !mustValidate(stored), !isTooOld {
      if staleness >= .zero, wanted.isUnlimited("max-stale") || wanted["max-stale"].map({ staleness <= $0 }) ?? false {
        return .serve
      }
      if wanted["max-age"] == nil, wanted["min-fresh"] == nil, !isConfined,
        let window = control["stale-while-revalidate"], staleness >= .zero, staleness <= window
      {
        return .serveAndRefresh
      }
    }
    return isConfined ? .unsatisfiable : .validate
  }

  /// Whether a stale response is better than the failure of its validation: a 500, 502, 503 or 504, or no answer (RFC 5861 §4).
  /// - Parameter grace: How long a stale response may be served if neither request nor response limits that.
  func maySave(
    _ request: HTTPRequest, stored: StoredResponse, now: WallTime, grace: Duration
  ) -> Bool {
    let wanted = CacheControl(request.headerFields)
    guard !mustValidate(stored), !isForbidden(stored.control), !wanted.contains("no-cache"),
      wanted["max-age"] == nil, wanted["min-fresh"] == nil
    else { return false }
    let window = wanted["stale-if-error"] ?? stored.control["stale-if-error"] ?? grace
    return staleness(of: stored, at: now) <= window
  }

  /// Whether a response may be stored (§3).
  func isStorable(_ response: HTTPResponse, to request: HTTPRequest) -> Bool {
    let control = CacheControl(response.headerFields)
    let status = response.status.code
    guard request.method == .get, status >= 200, ![206, 304].contains(status),
      !CacheControl(request.headerFields).contains("no-store"),
      StoredResponse.selecting(request.headerFields, vary: response.headerFields) != nil
    else { return false }
    // A cache that understands the status may ignore no-store (§5.2.2.3).
    if control.contains("must-understand") {
      guard Self.understood.contains(status) else { return false }
    } else if control.contains("no-store") {
      return false
    }
    let isExplicit =
      control.contains("max-age") || control.contains("public") || response.headerFields.contains(.expires)
    switch kind {
    case .private:
      return isExplicit || control.contains("private") || Self.isHeuristic(status)
    case .shared:
      guard mayShare(control, request) else { return false }
      if isExplicit || control.contains("s-maxage") { return true }
      // A heuristic is not good enough for a response that looks personal.
      let isPersonal = request.headerFields.contains(.cookie) || response.headerFields.contains(.setCookie)
      return Self.isHeuristic(status) && !isPersonal
    }
  }

  /// Whether other users than the one who asked may have it: not if all of it is `private`, and an answer to credentials only if
  /// the origin allows that (§3.5, §5.2.2.7).
  private func mayShare(_ control: CacheControl, _ request: HTTPRequest) -> Bool {
    guard control.extent(of: "private") != .everything else { return false }
    return !request.headerFields.contains(.authorization)
      || ["public", "s-maxage", "must-revalidate"].contains(where: control.contains)
  }

  /// Returns the fields of a response that are not stored: `no-cache` and, in a shared cache, `private` may name some.
  func withheld(_ control: CacheControl) -> Set<HTTPField.Name> {
    var names: Set<HTTPField.Name> = []
    if case .fields(let fields) = control.extent(of: "no-cache") { names.formUnion(fields) }
    if kind == .shared, case .fields(let fields) = control.extent(of: "private") { names.formUnion(fields) }
    return names
  }

  /// Whether `no-cache` without fields forbids serving it without validation (§5.2.2.4).
  private func isForbidden(_ control: CacheControl) -> Bool {
    control.extent(of: "no-cache") == .everything
  }

  /// Whether responses with a status are cacheable by default (RFC 9110 §15.1).
  static func isHeuristic(_ status: Int) -> Bool {
    [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
  }

  private static let understood: Set<Int> = [
    200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 406, 410, 414, 415, 500, 501, 502, 503, 504,
  ]

  /// Whether it must not be served stale, even if the request allows it (§5.2.2.2). A shared cache has two more reasons (§5.2.2.8,
  /// §5.2.2.10).
  private func mustValidate(_ stored: StoredResponse) -> Bool {
    let control = stored.control
    if control.contains("must-revalidate") { return true }
    return kind == .shared && (control.contains("proxy-revalidate") || control.contains("s-maxage"))
  }

  /// Whether to look for a stored response. A request with a condition on the origin's state must reach the origin.
  static func isLookedUp(_ request: HTTPRequest) -> Bool {
    (request.method == .get || request.method == .head)
      && ![HTTPField.Name.ifMatch, .ifUnmodifiedSince].contains(where: request.headerFields.contains)
  }

  /// Whether a method is safe (RFC 9110 §9.2.1).
  static func isSafe(_ method: HTTPRequest.Method) -> Bool {
    [.get, .head, .options, .trace].contains(method)
  }
}
