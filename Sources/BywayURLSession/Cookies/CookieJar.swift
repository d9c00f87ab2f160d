import Byway
import Foundation
import FoundationNetworking
import HTTPTypes

/// Sends the cookies of a session's storage with every request of a task, and stores those of responses, by the rules of RFC
/// 6265.
///
/// Foundation adds cookies only to the first request, and stores none for custom protocols. Its storage checks neither the path
/// nor `Secure` when it is asked for cookies.
struct CookieJar: Interceptor {
  /// The maximum number of cookies of one domain; RFC 6265 §6.1 asks for 50.
  private static let limit = 180

  private let storage: HTTPCookieStorage?
  private let policy: HTTPCookie.AcceptPolicy
  private let sends: Bool
  /// Whether the request's cookie field is Foundation's, which chooses cookies by host alone.
  private let hasGuess: Bool
  private let document: URL?

  init(_ configuration: URLSessionConfiguration, _ request: URLRequest) {
    let storage = request.httpShouldHandleCookies ? configuration.httpCookieStorage : nil
    self.storage = storage
    policy = configuration.httpCookieAcceptPolicy
    sends = configuration.httpShouldSetCookies
    let guess = request.url.flatMap { storage?.cookies(for: $0) } ?? []
    hasGuess = sends && !guess.isEmpty
    document = request.mainDocumentURL
  }

  func intercept(_ request: Request, next: Next) async throws -> Response {
    guard let storage, let url = request.head.url, let host = url.host()?.lowercased() else {
      return try await next(request)
    }
    var request = request
    if sends {
      let cookies = Self.cookies(in: storage, for: request.head, host, now: Date())
      if hasGuess { request.head.headerFields[.cookie] = nil }
      if !cookies.isEmpty {
        request.head.headerFields[.cookie] = cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
      }
    }
    let response = try await next(request)
    let received = response.fields[values: .setCookie]
    if !received.isEmpty, accepts(from: host) { store(received, from: host, request.head.path ?? "/", in: storage) }
    return response
  }

  private func accepts(from host: String) -> Bool {
    switch policy {
    case .never: return false
    case .onlyFromMainDocumentDomain:
      guard let document = document?.host()?.lowercased() else { return true }
      return host == document || host.hasSuffix("." + document)
    default: return true
    }
  }

  private func store(_ fields: [String], from host: String, _ path: String, in storage: HTTPCookieStorage) {
    let now = Date()
    for field in fields {
      guard let cookie = SetCookie(field)?.cookie(from: host, at: path, now: now) else { continue }
      if cookie.expiresDate.map({ $0 <= now }) ?? false {
        storage.deleteCookie(cookie)
      } else if Self.hasRoom(for: cookie, in: storage) {
        storage.setCookie(cookie)
      }
    }
  }

  private static func hasRoom(for cookie: HTTPCookie, in storage: HTTPCookieStorage) -> Bool {
    let others = (storage.cookies ?? []).filter { $0.domain == cookie.domain }
    return others.count < limit || others.contains { $0.name == cookie.name && $0.path == cookie.path }
  }

  /// The cookies for a request (RFC 6265 §5.4).
  private static func cookies(
    in storage: HTTPCookieStorage, for request: HTTPRequest, _ host: String, now: Date
  ) -> [HTTPCookie] {
    let path = String((request.path ?? "/").prefix { $0 != "?" && $0 != "#" })
    let fitting = (storage.cookies ?? []).filter { cookie in
      isIn(cookie.domain.lowercased(), host) && matches(path, cookie.path)
        && (!cookie.isSecure || request.scheme == "https") && cookie.expiresDate.map { $0 > now } ?? true
    }
    return fitting.sorted { ($1.path.utf8.count, $0.name) < ($0.path.utf8.count, $1.name) }
  }

  /// Whether a domain applies to a host (§5.1.3). A domain without a leading dot applies to that host only.
  private static func isIn(_ domain: String, _ host: String) -> Bool {
    guard domain.hasPrefix(".") else { return domain == host }
    return host == domain.dropFirst() || (host.hasSuffix(domain) && !HostAddress.isAddress(host))
  }

  /// Whether a path is within a cookie's path (§5.1.4).
  private static func matches(_ path: String, _ prefix: String) -> Bool {
    path == prefix || (path.hasPrefix(prefix) && (prefix.hasSuffix("/") || path.dropFirst(prefix.count).first == "/"))
  }
}
