import ArgumentParser
import Byway
import BywayHTTPWire
import BywayTerminal
import HTTPTypes

/// The options that make a request, with the names that curl uses.
struct RequestOptions: ParsableArguments {
  @Option(
    name: [.customShort("X", allowingJoined: true), .customLong("request")],
    help: "The method. Without it: GET, POST with -d or -F, PUT with -T, HEAD with -I.")
  var method: String?

  @Flag(name: [.customShort("I"), .customLong("head")], help: "Request only the response's head, and show it.")
  var head = false

  @Option(
    name: [.customShort("H", allowingJoined: true), .customLong("header")], parsing: .unconditionalSingleValue,
    help: .value("field", "A field of the request; \"Name:\" leaves a default one out. May be repeated."))
  var header: [String] = []

  @OptionGroup var content: BodyOptions

  @Argument(help: .value("url", "http://HOST/PATH, https://HOST/PATH or /PATH."))
  var url: String

  /// - Throws: ``CommandFailure`` or ``BywayError`` if the request cannot be sent like this.
  func request() throws -> Request {
    let (body, type) = try content.body()
    guard !head || content.method == .get else {
      throw CommandFailure(.usage, "-I requests only a head and sends no body: leave it out, or -d, -F and -T.")
    }
    let url = url.hasPrefix("/") ? "http://localhost\(url)" : LoginOptions.withoutLogin(url)
    var request = try Request(requestMethod(), url: url, body: body)
    guard request.head.scheme == "http" || request.head.scheme == "https" else {
      let scheme = request.head.scheme ?? ""
      throw CommandFailure(
        .usage,
        ["ws", "wss"].contains(scheme)
          ? "A single request opens no WebSocket: start byway proxy, and connect to ws:// at its address."
          : "\(scheme):// is not spoken here: write http:// or https://.")
    }
    request.head.headerFields[.userAgent] = "byway"
    request.head.headerFields[.accept] = "*/*"
    if let type { request.head.headerFields[.contentType] = type }
    try addFields(to: &request.head)
    return request
  }

  private func requestMethod() throws -> HTTPRequest.Method {
    guard let method else { return head ? .head : content.method }
    guard let known = HTTPRequest.Method(rawValue: method) else {
      throw CommandFailure(.usage, "\"\(method)\" is not a method: write -X GET, for example.")
    }
    guard known != .connect else {
      throw CommandFailure(.usage, "CONNECT opens a tunnel, which a single request cannot use: start byway proxy.")
    }
    return known
  }

  /// Adds the fields. The first field with a name replaces a default; further ones are added.
  private func addFields(to head: inout HTTPRequest) throws {
    var given: Set<HTTPField.Name> = []
    for text in header {
      let (name, value) = try Self.split(text)
      if name.canonicalName == "host" {
        do throws(AuthorityFlaw) { _ = try Authority(value) } catch {
          throw BywayError(.invalidAddress, place: value, error)
        }
        head.authority = value
        continue
      }
      if given.insert(name).inserted { head.headerFields[name] = nil }
      if !value.isEmpty { head.headerFields.append(HTTPField(name: name, value: value)) }
    }
  }

  /// Fields of one connection, which the user does not control (RFC 9113 §8.2.2).
  private static let connectionFields = [
    "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
  ]

  private static func split(_ text: String) throws -> (HTTPField.Name, String) {
    guard let colon = text.firstIndex(of: ":"), let name = HTTPField.Name(String(text[..<colon])) else {
      throw CommandFailure(.usage, "\"\(text)\" is not a field: write -H 'Name: value'.")
    }
    guard !connectionFields.contains(name.canonicalName) else {
      throw CommandFailure(.usage, "\(name.rawName) belongs to a connection, not to a request: leave it out.")
    }
    let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
    guard HTTPField.isValidValue(String(value)) else {
      throw CommandFailure(.usage, "The value of \(name.rawName) contains characters that no field may have.")
    }
    return (name, String(value))
  }
}
