import Byway
import BywayHTTPWire
import HTTPTypes

/// The request that follows from a redirect (RFC 9110 §15.4).
struct RedirectRule {
  let target: TargetURI
  /// Whether the same method and body are sent to the new target.
  let keepsContent: Bool
  private let method: HTTPRequest.Method
  private let isSameOrigin: Bool

  /// Returns `nil` if the response is not a redirect, or one that must not be followed without asking.
  init?(_ response: HTTPResponse, to request: HTTPRequest) {
    guard let location = response.headerFields[.location], !request.kind.asksForTunnel,
      let method = Self.method(after: request.method, status: response.status.code)
    else { return nil }
    let source = TargetURI(request)
    target = source.resolving(URIReference(location))
    guard target.isHTTP, (try? Authority(target.authority)) != nil, source.scheme != "https" || target.scheme == "https"
    else {
      return nil
    }
    self.method = method
    keepsContent = method == request.method && method != .get && method != .head
    isSameOrigin = source.hasOrigin(of: target)
  }

  func request(after request: Request) -> Request {
    var next = request
    next.head.method = method
    next.head.go(to: target)
    var fields = request.head.headerFields
    if !isSameOrigin {
      next.urlCameFromResponse = true
      for name in Self.personal { fields[name] = nil }
    }
    if !keepsContent {
      next.body = .empty
      for name in Self.ofContent { fields[name] = nil }
    }
    next.head.headerFields = fields
    return next
  }

  /// Returns the method of the following request; `nil` if there is none.
  private static func method(after method: HTTPRequest.Method, status: Int) -> HTTPRequest.Method? {
    switch status {
    // For historical reasons, a POST and nothing else becomes a GET here (§15.4.2, §15.4.3).
    case 301, 302: method == .post ? .get : method
    case 303: method == .head ? .head : .get
    case 307, 308: method
    default: nil
    }
  }

  /// Fields that are meant for one origin only. If-Range stays with its Range: without it the part could be of another content.
  private static let personal: [HTTPField.Name] = [
    .authorization, .cookie, .proxyAuthorization, .origin, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
  ]

  private static let ofContent: [HTTPField.Name] = [
    .contentType, .contentLength, .contentEncoding, .contentLanguage, .contentLocation, .contentMD5, .contentDigest,
    .reprDigest, .transferEncoding, .trailer, .expect,
  ]
}
