import BywayHTTPWire
import BywayPrimitives
import HTTPTypes

extension CacheRules {
  /// Returns the request that validates a stored response (§4.3.1); `nil` if the response has no validator.
  static func validation(of stored: StoredResponse, for request: HTTPRequest) -> HTTPRequest? {
    var result = request
    // Without the condition that came with it, a range could be of another version than the caller's.
    if result.headerFields.contains(.ifRange) { result.headerFields[.range] = nil }
    for name in conditions { result.headerFields[name] = nil }
    if let tag = stored.fields[.eTag] { result.headerFields[.ifNoneMatch] = tag }
    if let date = stored.fields[.lastModified] { result.headerFields[.ifModifiedSince] = date }
    let asks = result.headerFields.contains(.ifNoneMatch) || result.headerFields.contains(.ifModifiedSince)
    return asks ? result : nil
  }

  /// Whether a 304 is about this stored response (§4.3.4).
  static func isConfirmation(_ response: HTTPResponse, of stored: StoredResponse) -> Bool {
    guard let tag = response.headerFields[.eTag].flatMap({ EntityTag($0) }) else { return true }
    return stored.fields[.eTag].flatMap { EntityTag($0) }.map(tag.weaklyEquals) ?? false
  }

  /// Returns a response that is about to be stored; its length is not known yet (§3).
  func head(
    _ id: UInt64, of key: String, _ response: HTTPResponse, to request: HTTPRequest, requested: WallTime,
    received: WallTime
  ) -> StoredResponse {
    StoredResponse(
      id: id, key: key, status: response.status.code, fields: storedFields(response.headerFields),
      selecting: StoredResponse.selecting(request.headerFields, vary: response.headerFields) ?? [:],
      requested: requested, received: received, length: 0)
  }

  /// Returns the stored response after a 304, or after a HEAD that confirms it (§3.2, §4.3.4).
  func updated(
    _ stored: StoredResponse, by response: HTTPResponse, requested: WallTime, received: WallTime
  ) -> StoredResponse {
    var result = stored
    let news = storedFields(response.headerFields)
    let names = Set(news.map(\.name)).subtracting(Self.ofContent)
    for name in names { result.fields[fields: name] = news[fields: name] }
    // The previous age and date were those of the old answer.
    if !names.contains(.age) { result.fields[.age] = nil }
    if !names.contains(.date) { result.fields[.date] = nil }
    // The answer may withhold fields that the first one did not.
    for name in withheld(result.control) { result.fields[name] = nil }
    result.requested = requested
    result.received = received
    return result
  }

  /// Whether a HEAD's answer is about the stored response (§4.3.5). If not, the stored response is outdated.
  static func describes(_ response: HTTPResponse, _ stored: StoredResponse) -> Bool {
    let fields = response.headerFields
    for name in [HTTPField.Name.eTag, .lastModified] where fields[name] != stored.fields[name] { return false }
    return fields[.contentLength].map { $0 == String(stored.length) } ?? true
  }

  /// Returns the fields of a head to store (§3.1): not those of one connection or one proxy, nor those that must not be stored.
  func storedFields(_ fields: HTTPFields) -> HTTPFields {
    let named = fields[values: .connection].flatMap { ListMembers($0) }.compactMap { HTTPField.Name($0) }
    let dropped = Set(named + Self.hopByHop).union(withheld(CacheControl(fields)))
    return HTTPFields(fields.filter { !dropped.contains($0.name) })
  }

  /// Whether the client has the content of a stored response already, by the request's own conditions (§4.3.2).
  static func isNotModified(_ stored: StoredResponse, for request: HTTPFields) -> Bool {
    guard stored.status == 200 else { return false }
    if let list = request[.ifNoneMatch] {
      if list.trimmed == "*" { return true }
      return stored.fields[.eTag].flatMap { EntityTag($0) }?.isNamed(byIfNoneMatch: list) ?? false
    }
    guard let since = request[.ifModifiedSince].flatMap(WallTime.init(httpDate:)) else { return false }
    let modified = stored.fields[.lastModified].flatMap(WallTime.init(httpDate:)) ?? stored.date
    return modified <= since
  }

  /// Returns the part of a stored response that the request asks for; `nil` for all of it (RFC 9110 §14.2).
  static func range(of request: HTTPRequest, in stored: StoredResponse) -> ByteRange? {
    guard request.method == .get, stored.status == 200, let field = request.headerFields[.range],
      let range = ByteRange(field)
    else { return nil }
    guard let condition = request.headerFields[.ifRange] else { return range }
    if let tag = EntityTag(condition) {
      return stored.fields[.eTag].flatMap { EntityTag($0) }.map(tag.stronglyEquals) ?? false ? range : nil
    }
    return stored.fields[.lastModified] == condition ? range : nil
  }

  /// Returns the URLs whose stored responses a successful unsafe request invalidates (§4.4).
  static func invalidated(by request: HTTPRequest, _ response: HTTPResponse) -> [TargetURI] {
    guard !isSafe(request.method), !request.kind.asksForTunnel, (200..<400).contains(response.status.code) else {
      return []
    }
    let target = TargetURI(request)
    let named = [HTTPField.Name.location, .contentLocation].compactMap { response.headerFields[$0] }
      .map { target.resolving(URIReference($0)) }
    // A response does not invalidate those of another origin.
    return [target] + named.filter { $0.hasOrigin(of: target) && $0 != target }
  }

  private static let conditions: [HTTPField.Name] = [.ifNoneMatch, .ifModifiedSince, .ifRange]

  /// The fields about the stored body, which a 304 does not carry.
  private static let ofContent: Set<HTTPField.Name> = [
    .contentLength, .contentType, .contentEncoding, .contentRange, .contentMD5, .contentDigest,
  ]

  private static let hopByHop: [HTTPField.Name] = [
    .connection, .transferEncoding, .upgrade, .te, .trailer, .proxyAuthenticate, .proxyAuthorization,
    .proxyAuthenticationInfo,
  ]
}
