import BywayHTTPWire
public import HTTPTypes
public import NIOCore

/// A request on its way to an origin: head, body, and the time limit of its sender.
public struct Request: Sendable {
  /// Method, target and fields; HTTP/1.1's `Host` is the authority here (RFC 9113 §8.3.1).
  public var head: HTTPRequest
  /// The content; ``Body/empty`` if there is none.
  public var body: Body
  /// The deadline for the response's head, including queueing, retries and interceptors. `nil`: no limit.
  public var deadline: NIODeadline?
  /// Called with each informational response (RFC 9110 §15.2), for example 103, before the final one arrives. It runs on the link's event
  /// loop and must not block.
  public var onInformational: (@Sendable (HTTPResponse) -> Void)?
  /// Whether its URL comes from a response, such as a redirect, and not from the sender.
  package var urlCameFromResponse = false
  /// The user that sent it.
  package var user = RequestUser.anyone
  /// The client's connection that it arrived on.
  package var client: ObjectIdentifier?
  /// The record of the exchange that it belongs to.
  var observed: ObservedExchange?
  /// The detailed observer of that exchange. Interceptors run on its event loop.
  package var observer: (any SingleExchangeObserver)? { observed?.singleObserver }

  /// Called with each remark of a plugin about the exchange.
  package var onNote: (@Sendable (ExchangeRecord.Note) -> Void)?

  /// Adds the remark of a plugin to the record of the exchange. On the event loop of the exchange.
  package func note(_ text: String, by plugin: String) {
    let note = ExchangeRecord.Note(plugin: plugin, text: text)
    observed?.noted(note)
    onNote?(note)
  }

  /// Creates a request with any head, for example CONNECT.
  /// - Parameters:
  ///   - head: method, target and fields.
  ///   - body: sent as the remote end takes it.
  ///   - deadline: the deadline for the response's head; `nil`: the client's default.
  public init(_ head: HTTPRequest, body: Body = .empty, deadline: NIODeadline? = nil) {
    self.head = head
    self.body = body
    self.deadline = deadline
  }

  /// Creates a request for an `http` or `https` URL.
  /// - Throws: ``BywayError`` with code `invalidRequest` if the text is not an absolute URL, or has a user in it: credentials are not part
  ///   of a request's target (RFC 9110 §4.2.4).
  public init(_ method: HTTPRequest.Method = .get, url: String, body: Body = .empty, timeout: Duration? = nil) throws {
    guard let separator = url.firstRange(of: "://") else {
      throw BywayError(
        .invalidRequest, "\"\(url)\" is not an absolute URL: write http://HOST/PATH.", processing: .none)
    }
    let rest = url[separator.upperBound...]
    let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
    let fragment = rest.firstIndex(of: "#") ?? rest.endIndex
    var path = end < fragment ? String(rest[end..<fragment]) : ""
    if !path.hasPrefix("/") { path = "/" + path }
    let authority = String(rest[..<end])
    guard !authority.isEmpty else {
      throw BywayError(.invalidRequest, "\"\(url)\" has no host: write http://HOST/PATH.", processing: .none)
    }
    try Self.checkAuthority(authority)
    let isClean = url.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    guard isClean else {
      throw BywayError(
        .invalidRequest, "\"\(url)\" contains white space or control characters: percent-encode them.",
        processing: .none)
    }
    self.init(
      HTTPRequest(
        method: method, scheme: url[..<separator.lowerBound].lowercased(), authority: authority, path: path),
      body: body, deadline: timeout.map { .now() + TimeAmount($0) })
  }

  /// - Throws: ``BywayError`` with code `invalidRequest` if it is not a host and port, so that interceptors need not interpret it.
  static func checkAuthority(_ text: String) throws(BywayError) {
    do throws(AuthorityFlaw) {
      _ = try Authority(text)
    } catch {
      throw BywayError(.invalidRequest, place: text, error)
    }
  }
}
