public import HTTPTypes
import HTTPWire
public import NIOCore

/// A request on its way to an origin: head, body, and how long its sender will wait.
public struct Request: Sendable {
  /// Method, target and fields; HTTP/1.1's `Host` is the authority here (RFC 9113 §8.3.1).
  public var head: HTTPRequest
  /// The content; ``Body/empty`` where there is none.
  public var body: Body
  /// When the response's head must have arrived, queueing, retries and interceptors included. `nil`: no limit.
  public var deadline: NIODeadline?
  /// Called with each informational response (RFC 9110 §15.2), 103 for example, before the final one arrives. It runs
  /// on the link's event loop and must not block.
  public var onInformational: (@Sendable (HTTPResponse) -> Void)?
  /// It goes to a host that an answer has named, and not the sender.
  package var isLedElsewhere = false
  /// Who has sent it.
  package var visitor = Visitor.anyone
  /// The client's connection that it came by.
  var client: ObjectIdentifier?
  /// Of the exchange that it belongs to.
  var observed: ObservedExchange?

  /// A request with any head, CONNECT for example.
  /// - Parameters:
  ///   - head: method, target and fields.
  ///   - body: sent as the far end takes it.
  ///   - deadline: when the response's head must have arrived; `nil`: as the client is configured.
  public init(_ head: HTTPRequest, body: Body = .empty, deadline: NIODeadline? = nil) {
    self.head = head
    self.body = body
    self.deadline = deadline
  }

  /// A request for an `http` or `https` URL.
  /// - Throws: ``BywayError`` with code `invalidRequest` where the text is not an absolute URL, or has a user in it: credentials
  ///   are not part of a request's target (RFC 9110 §4.2.4).
  public init(_ method: HTTPRequest.Method = .get, url: String, body: Body = .empty, timeout: TimeAmount? = nil) throws
  {
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
      body: body, deadline: timeout.map { .now() + $0 })
  }

  /// - Throws: ``BywayError`` with code `invalidRequest` where it is not a host and port: not even an interceptor should have
  ///   to guess what was meant.
  static func checkAuthority(_ text: String) throws(BywayError) {
    do throws(AuthorityFlaw) {
      _ = try Authority(text)
    } catch {
      throw BywayError(.invalidRequest, place: text, error)
    }
  }
}
