import Byway
package import BywayPrimitives
import HTTPTypes
import NIOCore

/// An exchange in the HTTP Archive format, version 1.2, which browsers' tools open.
package struct HAREntry {
  let exchange: TracedExchange
  let httpVersion: String
  /// Whether the client was answered with the status of a failure if there was no other response.
  let isAnswered: Bool

  /// - Parameters:
  ///   - httpVersion: The protocol, such as `HTTP/2`.
  ///   - isAnswered: Whether the client was answered with the status of a failure if there was no other response.
  package init(exchange: TracedExchange, httpVersion: String, isAnswered: Bool) {
    self.exchange = exchange
    self.httpVersion = httpVersion
    self.isAnswered = isAnswered
  }

  package var json: JSON {
    [
      "startedDateTime": .string(WallTime(sinceEpoch: exchange.started).timestamp),
      "time": .number(exchange.duration.milliseconds), "request": request, "response": response, "cache": [:],
      "timings": [
        "blocked": exchange.held > .zero ? .number(exchange.held.milliseconds) : nil,
        "send": .number(exchange.sending.milliseconds), "wait": .number(exchange.waiting.milliseconds),
        "receive": .number(exchange.receiving.milliseconds),
      ],
      // Byway's own member.
      "_notes": exchange.notes.isEmpty
        ? nil : .array(exchange.notes.map { ["plugin": .string($0.plugin), "text": .string($0.text)] }),
    ]
  }

  private var request: JSON {
    let head = exchange.request
    return [
      "method": .string(exchange.isWebSocket ? "GET" : head.method.rawValue), "url": .string(exchange.url),
      "httpVersion": .string(httpVersion), "cookies": [], "headers": Self.pairs(fieldsOfRequest),
      "queryString": Self.query(of: head.path ?? ""), "postData": posted, "headersSize": -1,
      "bodySize": .number(exchange.requestBody.length),
    ]
  }

  private var posted: JSON? {
    let body = exchange.requestBody
    guard body.length > 0 else { return nil }
    let (text, isCoded) = Self.text(of: body)
    return [
      "mimeType": .string(exchange.request.headerFields[.contentType] ?? ""), "params": [], "text": .string(text ?? ""),
      // Byway's own member: the format knows the encoding of responses only.
      "_encoding": isCoded ? "base64" : nil, "comment": Self.comment(on: body),
    ]
  }

  /// The fields with the host, which HTTP/2 has among its pseudo-header fields.
  private var fieldsOfRequest: HTTPFields {
    guard let host = exchange.request.authority, let name = HTTPField.Name("host") else {
      return exchange.request.headerFields
    }
    var fields: HTTPFields = [name: host]
    fields.append(contentsOf: exchange.request.headerFields.filter { $0.name != name })
    return fields
  }

  /// The status of the answer. A request without an answer has status 0, as in browsers.
  private var status: HTTPResponse.Status? {
    if exchange.isWebSocket, exchange.response?.status.kind == .successful { return .switchingProtocols }
    return exchange.response?.status ?? (isAnswered ? exchange.failureStatus : nil)
  }

  private var response: JSON {
    let fields = exchange.response?.headerFields ?? [:]
    let length = exchange.responseBody.length
    return [
      "status": .number(status?.code ?? 0), "statusText": .string(status?.phrase ?? ""),
      "httpVersion": .string(httpVersion), "cookies": [], "headers": Self.pairs(fields),
      "content": content(fields[.contentType] ?? ""), "redirectURL": .string(fields[.location] ?? ""),
      "headersSize": -1, "bodySize": .number(length),
      // Chromium's own member, which it would otherwise add up from both sizes, including the unknown one.
      "_transferSize": .number(length), "_error": exchange.failure.map { .string($0) },
    ]
  }

  private func content(_ type: String) -> JSON {
    let body = exchange.responseBody
    let (text, isCoded) = Self.text(of: body)
    return [
      "size": .number(body.length), "mimeType": .string(type), "text": text.map { .string($0) },
      "encoding": isCoded ? "base64" : nil, "comment": Self.comment(on: body),
    ]
  }

  /// Returns the kept part of a body, in base64 if it is not text; `nil` if there is none.
  private static func text(of body: TracedExchange.Content) -> (text: String?, isCoded: Bool) {
    let bytes = body.kept.readableBytesView
    if bytes.isEmpty { return (nil, false) }
    let text = String(validating: bytes, as: UTF8.self)
    return (text ?? Base64.encode(bytes), text == nil)
  }

  private static func comment(on body: TracedExchange.Content) -> JSON? {
    body.keptLength < body.length ? .string("\(body.keptLength) of \(body.length) bytes were kept.") : nil
  }

  private static func pairs(_ fields: HTTPFields) -> JSON {
    .array(fields.map { pair($0.name.rawName, $0.value) })
  }

  private static func query(of path: String) -> JSON {
    let query = path.firstIndex(of: "?").map { path[path.index(after: $0)...] } ?? ""
    return .array(
      query.split(separator: "&").map { pair in
        let name = pair.prefix { $0 != "=" }
        return Self.pair(String(name), String(pair.dropFirst(name.count + 1)))
      })
  }

  private static func pair(_ name: String, _ value: String) -> JSON {
    ["name": .string(name), "value": .string(value)]
  }
}
