import Byway
import BywayInterceptors
import BywayPrimitives
import HTTPTypes
import NIOCore

/// A request or response that waits at a breakpoint, and the messages that users may put in its place.
struct PausedMessage: Sendable {
  /// The id of its exchange.
  let exchange: Int
  /// The request as it arrived.
  let request: Request
  /// `nil` if the request itself waits.
  let response: Response?
  /// The body of the waiting message.
  let body: ReadBody

  /// The message that goes on.
  enum Decision: Sendable {
    case unchanged
    case request(Request)
    case response(Response)
    case drop
  }

  /// The fields that an edit cannot change. The coding belongs to the body, which can be edited only without one. `Via` detects loops, and
  /// each hop sets its own part.
  private static let fixed = ConnectionFields.names.union([
    "host", "expect", "content-encoding", "proxy-authorization", "via",
  ])

  /// Whether an edit cannot change a field. It stays as it is.
  /// - Parameter name: a name in lower case.
  static func isFixed(_ name: String) -> Bool { fixed.contains(name) || name.hasPrefix("byway-") }

  var point: BreakpointRule.Point { response == nil ? .request : .response }

  var fields: HTTPFields { response?.fields ?? request.head.headerFields }

  /// Whether its exchange opens a tunnel, whose bytes are not a message.
  var isTunnel: Bool { request.head.kind.asksForTunnel }

  // MARK: The body

  /// The text of a body, or the reason why it cannot be edited.
  enum Text: Sendable, Equatable {
    case text(String)
    case fixed(String)
    /// The rest is still to come.
    case arriving
  }

  var text: Text {
    if isTunnel { return .fixed("It opens a tunnel, whose bytes are not a body.") }
    if let response, request.head.method == .head || [204, 205, 304].contains(response.status.code) {
      return .fixed("Such a response has no body.")
    }
    let coding = fields[.contentEncoding]?.trimmed.lowercased() ?? "identity"
    guard coding == "identity" else { return .fixed("It is encoded as \(coding.visible), so it passes unchanged.") }
    if isStream { return .fixed("It is a stream without an end, so it passes unchanged.") }
    switch body.content {
    case .arriving: return .arriving
    case .partial:
      return .fixed("It is larger than \(ReadBody.limit >> 20) MiB, or memory is short: it passes unchanged.")
    case .whole(let bytes):
      guard !bytes.readableBytesView.contains(0), let text = String(validating: bytes.readableBytesView, as: UTF8.self)
      else { return .fixed("It is not text in UTF-8, so it passes unchanged.") }
      return .text(text)
    }
  }

  /// Whether the body has no end, or consists of messages that are exchanged one by one.
  private var isStream: Bool { Self.isStream(fields) }

  static func isStream(_ fields: HTTPFields) -> Bool {
    let type = MediaType.essence(fields[.contentType] ?? "")
    return type == "text/event-stream" || type.hasPrefix("application/grpc")
  }

  // MARK: Decisions

  /// The message as it goes on without an edit.
  var continued: Decision {
    if let response { return .response(Response(response.head, body: body.body)) }
    var sent = request
    sent.body = body.body
    return .request(sent)
  }

  /// Returns the edited message.
  /// - Parameter json: the members of ``EditedHead``, and `body`, a text.
  func edited(_ json: JSON, _ memory: PausedMemory) throws(EditFlaw) -> Decision {
    if case .object(let members) = json, members.isEmpty { return .unchanged }
    guard !isTunnel else { throw EditFlaw(.fields, "it opens a tunnel: it can be continued, answered or dropped") }
    let head = try EditedHead(json)
    let newBody = try Self.body(json)
    if let newBody {
      guard case .text(let before) = text else { throw EditFlaw(.body, "this body cannot be edited") }
      try EditedHead.checkPlaceholder(newBody, before: before, .body, "the body")
    }
    let replacement = try newBody.map { text throws(EditFlaw) in try Self.held(text, memory) }
    if let response { return .response(try edited(response, head, replacement)) }
    return .request(try edited(head, replacement))
  }

  private func edited(_ edit: EditedHead, _ replacement: Body?) throws(EditFlaw) -> Request {
    var sent = request
    try edit.apply(to: &sent.head, isFixed: Self.isFixed)
    guard sent.head.method == request.head.method || ![sent.head.method, request.head.method].contains(.head) else {
      throw EditFlaw(
        .method, "HEAD cannot become another method, or another method HEAD: its response has another form")
    }
    sent.body = replacement ?? body.body
    if replacement != nil { Self.forgetBody(&sent.head.headerFields) }
    return sent
  }

  private func edited(_ response: Response, _ edit: EditedHead, _ replacement: Body?) throws(EditFlaw) -> Response {
    var given = Response(response.head)
    try edit.apply(to: &given.head, isFixed: Self.isFixed)
    given.body = replacement ?? body.body
    if replacement != nil { Self.forgetBody(&given.head.headerFields) }
    return completed(given)
  }

  /// Returns an answer in place of the waiting message.
  /// - Parameter json: `status`, which must be there, `fields` and `body`.
  func answer(_ json: JSON, _ memory: PausedMemory) throws(EditFlaw) -> Decision {
    guard json["status"] != nil else { throw EditFlaw(.status, "an answer needs a status from 200 to 599") }
    var given = Response(status: .ok)
    try EditedHead(json).apply(to: &given.head, isFixed: Self.isFixed)
    if let text = try Self.body(json) { given.body = try Self.held(text, memory) }
    if isTunnel, given.status.kind == .successful {
      throw EditFlaw(.status, "this status would open a tunnel that leads nowhere: choose one from 300 on")
    }
    if given.body.length != 0, given.fields[.contentType] == nil {
      given.head.headerFields[.contentType] = "text/plain; charset=utf-8"
    }
    return .response(completed(given))
  }

  private static func body(_ json: JSON) throws(EditFlaw) -> String? {
    guard let value = json["body"] else { return nil }
    guard let text = value.text else { throw EditFlaw(.body, "the body is not text") }
    guard text.utf8.count <= ReadBody.limit else {
      throw EditFlaw(.body, "the body is larger than \(ReadBody.limit >> 20) MiB")
    }
    return text
  }

  private static func held(_ text: String, _ memory: PausedMemory) throws(EditFlaw) -> Body {
    let share = memory.share()
    guard share.take(text.utf8.count) else {
      throw EditFlaw(.body, "there is no memory for this body now: continue other exchanges first")
    }
    return Body(ByteBuffer(string: text)).holding(share)
  }

  /// Removes the fields that describe the original body.
  private static func forgetBody(_ fields: inout HTTPFields) {
    for name in [HTTPField.Name.contentLength, .contentMD5, .contentDigest, .reprDigest] { fields[name] = nil }
  }

  /// Returns a response in the form of the original request's: with the length of its body, or without a body.
  private func completed(_ response: Response) -> Response {
    var response = response
    let isBodiless = [204, 205, 304].contains(response.status.code)
    // The length in the answer to HEAD is that of another response.
    if isBodiless || request.head.method != .head { response.head.headerFields[.contentLength] = nil }
    return response.answering(request.head)
  }
}
