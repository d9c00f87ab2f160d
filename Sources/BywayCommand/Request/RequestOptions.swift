import ArgumentParser
import Byway
import HTTPTypes

/// The options that make a request, named as curl names them.
struct RequestOptions: ParsableArguments {
  @Option(
    name: [.customShort("X", allowingJoined: true), .customLong("request")],
    help: "GET, or POST with -d, or PUT with -T, unless given.")
  var method: String?

  @Option(
    name: [.customShort("H", allowingJoined: true), .customLong("header")], parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "A field of the request; \"Name:\" leaves a default one out. May be repeated.", valueName: "field"))
  var header: [String] = []

  @Option(
    name: [.customShort("d", allowingJoined: true), .customLong("data")], parsing: .unconditional,
    help: ArgumentHelp("Send this as the body: text, @FILE as it is, or @- for standard input.", valueName: "data"))
  var data: String?

  @Option(
    name: [.customShort("T", allowingJoined: true), .customLong("upload-file")], parsing: .unconditional,
    help: ArgumentHelp("Send this file as the body; - is standard input.", valueName: "file"))
  var uploadFile: String?

  @Argument(help: ArgumentHelp("http://HOST/PATH or /PATH.", valueName: "url"))
  var url: String

  init() {}

  /// - Throws: ``CommandFailure`` or ``BywayError`` where it cannot be sent like this.
  func request() throws -> Request {
    guard data == nil || uploadFile == nil else {
      throw CommandFailure(.usage, "A request has one body: give -d or -T, not both.")
    }
    var request = try Request(
      requestMethod(), url: url.hasPrefix("/") ? "http://localhost\(url)" : url, body: requestBody())
    request.head.headerFields[.userAgent] = "byway"
    request.head.headerFields[.accept] = "*/*"
    if data != nil { request.head.headerFields[.contentType] = "application/x-www-form-urlencoded" }
    try addFields(to: &request.head)
    return request
  }

  private func requestMethod() throws -> HTTPRequest.Method {
    guard let method else { return data != nil ? .post : uploadFile != nil ? .put : .get }
    guard let known = HTTPRequest.Method(rawValue: method) else {
      throw CommandFailure(.usage, "\"\(method)\" is no method: write -X GET, for example.")
    }
    guard known != .connect else {
      throw CommandFailure(.usage, "CONNECT opens a tunnel, which a single request cannot use: start byway proxy.")
    }
    return known
  }

  private func requestBody() throws -> Body {
    if let uploadFile { return try InputFile.body(uploadFile) }
    guard let data else { return .empty }
    return data.hasPrefix("@") ? try InputFile.body(String(data.dropFirst())) : Body(data)
  }

  /// The first field of a name replaces a default, further ones are added.
  private func addFields(to head: inout HTTPRequest) throws {
    var given: Set<HTTPField.Name> = []
    for text in header {
      let (name, value) = try Self.split(text)
      if name.canonicalName == "host" {
        head.authority = value
        continue
      }
      if given.insert(name).inserted { head.headerFields[name] = nil }
      if !value.isEmpty { head.headerFields.append(HTTPField(name: name, value: value)) }
    }
  }

  /// Fields of one connection, which is not the user's (RFC 9113 §8.2.2).
  private static let connectionFields = [
    "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
  ]

  private static func split(_ text: String) throws -> (HTTPField.Name, String) {
    guard let colon = text.firstIndex(of: ":"), let name = HTTPField.Name(String(text[..<colon])) else {
      throw CommandFailure(.usage, "\"\(text)\" is no field: write -H 'Name: value'.")
    }
    guard !connectionFields.contains(name.canonicalName) else {
      throw CommandFailure(.usage, "\(name.rawName) belongs to a connection, not to a request: leave it out.")
    }
    let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
    guard HTTPField.isValidValue(String(value)) else {
      throw CommandFailure(.usage, "The value of \(name.rawName) contains characters that no field may.")
    }
    return (name, String(value))
  }
}
