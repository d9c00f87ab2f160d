import Byway
import Foundation
import FoundationNetworking
import HTTPTypes
import NIOCore

extension Request {
  /// - Parameter others: fields to add if the request does not have them (`httpAdditionalHeaders`).
  init(_ request: URLRequest, adding others: [AnyHashable: Any]? = nil, body: Body = .empty) throws {
    guard let url = request.url?.withoutUser else {
      throw BywayError(.invalidRequest, "The request has no URL.", processing: .none)
    }
    guard let method = HTTPRequest.Method(rawValue: request.httpMethod ?? "GET") else {
      throw BywayError(.invalidRequest, "\"\(request.httpMethod ?? "")\" is not a method.", processing: .none)
    }
    try self.init(method, url: url, body: body)
    head.headerFields = HTTPFields(request.allHTTPHeaderFields ?? [:])
    for (name, value) in others ?? [:] {
      guard let name = HTTPField.Name("\(name)"), head.headerFields[name] == nil else { continue }
      if !HTTPFields.reserved.contains(name) { head.headerFields[name] = "\(value)" }
    }
    // Foundation's own protocol does the same.
    if method == .post, !body.isEmpty, head.headerFields[.contentType] == nil {
      head.headerFields[.contentType] = "application/x-www-form-urlencoded"
    }
  }

  /// Returns this request as replaced by a delegate's answer about a redirect.
  func replaced(by request: URLRequest) throws -> Request {
    var next = try Request(request, body: request.httpBody.map { Body(ByteBuffer(bytes: $0)) } ?? body)
    next.deadline = deadline
    next.onInformational = onInformational
    next.urlCameFromResponse = urlCameFromResponse
    return next
  }
}

extension URLRequest {
  /// Creates the redirected request for the delegate.
  init(_ request: Request, at url: URL, like original: URLRequest) {
    self.init(url: url, cachePolicy: original.cachePolicy, timeoutInterval: original.timeoutInterval)
    httpMethod = request.head.method.rawValue
    mainDocumentURL = original.mainDocumentURL
    httpShouldHandleCookies = original.httpShouldHandleCookies
    for field in request.head.headerFields { addValue(field.value, forHTTPHeaderField: field.name.rawName) }
  }
}

extension URL {
  /// The URL without user information, which is used for a login and is not part of a request's target.
  fileprivate var withoutUser: String {
    guard user != nil || password != nil, var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else {
      return absoluteString
    }
    parts.user = nil
    parts.password = nil
    return parts.string ?? absoluteString
  }
}

extension HTTPRequest {
  var url: URL? { URL(string: "\(scheme ?? "")://\(authority ?? "")\(path ?? "")") }
}

extension HTTPFields {
  fileprivate init(_ fields: [String: String]) {
    self.init()
    for (name, value) in fields {
      guard let name = HTTPField.Name(name), !Self.reserved.contains(name) else { continue }
      self[name] = value
    }
  }

  /// The fields that belong to the connection, or that the framing sets.
  fileprivate static let reserved = Set(
    [
      "Connection", "Content-Length", "Host", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding",
      "Upgrade",
    ].compactMap { HTTPField.Name($0) })
}

extension Body {
  fileprivate var isEmpty: Bool { length == 0 }
}
