import Byway
import Foundation
import FoundationNetworking
import HTTPTypes

/// Sends the cookies of a session's storage with every request of a task, and stores those that come back.
///
/// Foundation applies them to the first request only, and stores none for protocols of others.
struct CookieJar: Interceptor {
  private let storage: HTTPCookieStorage?
  private let policy: HTTPCookie.AcceptPolicy
  private let sends: Bool
  private let document: URL?

  init(_ configuration: URLSessionConfiguration, _ request: URLRequest) {
    storage = request.httpShouldHandleCookies ? configuration.httpCookieStorage : nil
    policy = configuration.httpCookieAcceptPolicy
    sends = configuration.httpShouldSetCookies
    document = request.mainDocumentURL
  }

  func intercept(_ request: Request, next: Next) async throws -> Response {
    guard let storage, let url = request.head.url else { return try await next(request) }
    var request = request
    if sends, let cookies = storage.cookies(for: url), !cookies.isEmpty {
      request.head.headerFields[.cookie] = HTTPCookie.requestHeaderFields(with: cookies)["Cookie"]
    }
    let response = try await next(request)
    let received = response.fields[values: .setCookie]
    if !received.isEmpty, policy != .never { store(received, from: url, in: storage) }
    return response
  }

  private func store(_ values: [String], from url: URL, in storage: HTTPCookieStorage) {
    // One at a time: joined by commas they are hard to tell from the dates in them.
    let cookies = values.flatMap { HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": $0], for: url) }
    if policy == .onlyFromMainDocumentDomain, let host = document?.host(), let own = url.host(),
      own != host, !own.hasSuffix("." + host)
    {
      return
    }
    for cookie in cookies { storage.setCookie(cookie) }
  }
}
