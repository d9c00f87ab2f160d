import Byway
import HTTPTypes
import NIOCore

/// One exchange in the HTTP Archive format, version 1.2, which browsers' tools open.
struct HAREntry {
  let exchange: TracedExchange
  let httpVersion: String
  /// Whoever asked has been answered, with a failure's status, where nothing else came.
  let isAnswered: Bool

  func write(to json: inout ByteBuffer) {
    json.object { json in
      json.member("startedDateTime") { $0.writeJSON(WallTime(sinceEpoch: exchange.started).timestamp) }
      json.member("time") { $0.writeNumber(exchange.duration.milliseconds) }
      json.member("request") { request(&$0) }
      json.member("response") { response(&$0) }
      json.member("cache") { $0.object { _ in } }
      json.member("timings") { json in
        json.object { json in
          json.member("send") { $0.writeNumber(exchange.sending.milliseconds) }
          json.member("wait") { $0.writeNumber(exchange.waiting.milliseconds) }
          json.member("receive") { $0.writeNumber(exchange.receiving.milliseconds) }
        }
      }
    }
  }

  private func request(_ json: inout ByteBuffer) {
    let head = exchange.request
    json.object { json in
      json.member("method") { $0.writeJSON(exchange.isWebSocket ? "GET" : head.method.rawValue) }
      json.member("url") { $0.writeJSON(exchange.url) }
      json.member("httpVersion") { $0.writeJSON(httpVersion) }
      json.member("cookies") { $0.array([String]()) { _, _ in } }
      json.member("headers") { Self.write(fieldsOfRequest, to: &$0) }
      json.member("queryString") { Self.write(query: head.path ?? "", to: &$0) }
      if exchange.requestBody.length > 0 {
        json.member("postData") { json in
          json.object { json in
            json.member("mimeType") { $0.writeJSON(head.headerFields[.contentType] ?? "") }
            json.member("params") { $0.array([String]()) { _, _ in } }
            json.member("text") { $0.writeJSON(String(buffer: exchange.requestBody.kept)) }
            Self.comment(on: exchange.requestBody, to: &json)
          }
        }
      }
      json.member("headersSize") { $0.writeString("-1") }
      json.member("bodySize") { $0.writeString("\(exchange.requestBody.length)") }
    }
  }

  /// With the host, which HTTP/2 has among its pseudo-header fields.
  private var fieldsOfRequest: HTTPFields {
    guard let host = exchange.request.authority, let name = HTTPField.Name("host") else {
      return exchange.request.headerFields
    }
    var fields: HTTPFields = [name: host]
    fields.append(contentsOf: exchange.request.headerFields.filter { $0.name != name })
    return fields
  }

  /// A request without an answer has status 0, as in browsers.
  private var status: HTTPResponse.Status? {
    if exchange.isWebSocket, exchange.response?.status.kind == .successful { return .switchingProtocols }
    return exchange.response?.status ?? (isAnswered ? exchange.failureStatus : nil)
  }

  private func response(_ json: inout ByteBuffer) {
    let fields = exchange.response?.headerFields ?? [:]
    json.object { json in
      json.member("status") { $0.writeString("\(status?.code ?? 0)") }
      json.member("statusText") { $0.writeJSON(status?.phrase ?? "") }
      json.member("httpVersion") { $0.writeJSON(httpVersion) }
      json.member("cookies") { $0.array([String]()) { _, _ in } }
      json.member("headers") { Self.write(fields, to: &$0) }
      json.member("content") { json in
        json.object { content(fields[.contentType] ?? "", to: &$0) }
      }
      json.member("redirectURL") { $0.writeJSON(fields[.location] ?? "") }
      json.member("headersSize") { $0.writeString("-1") }
      json.member("bodySize") { $0.writeString("\(exchange.responseBody.length)") }
      // Chromium's own, which it otherwise adds up from both sizes, the unknown one included.
      json.member("_transferSize") { $0.writeString("\(exchange.responseBody.length)") }
      if let failure = exchange.failure { json.member("_error") { $0.writeJSON(failure) } }
    }
  }

  private func content(_ type: String, to json: inout ByteBuffer) {
    let body = exchange.responseBody
    json.member("size") { $0.writeString("\(body.length)") }
    json.member("mimeType") { $0.writeJSON(type) }
    if body.kept.readableBytes > 0 {
      let text = String(validating: body.kept.readableBytesView, as: UTF8.self)
      json.member("text") { $0.writeJSON(text ?? Base64.encode(body.kept.readableBytesView)) }
      if text == nil { json.member("encoding") { $0.writeJSON("base64") } }
    }
    Self.comment(on: body, to: &json)
  }

  private static func comment(on body: TracedExchange.Content, to json: inout ByteBuffer) {
    guard body.keptLength < body.length else { return }
    json.member("comment") { $0.writeJSON("\(body.keptLength) of \(body.length) bytes were kept.") }
  }

  private static func write(_ fields: HTTPFields, to json: inout ByteBuffer) {
    json.array(fields) { json, field in json.pair(field.name.rawName, field.value) }
  }

  private static func write(query path: String, to json: inout ByteBuffer) {
    let query = path.firstIndex(of: "?").map { path[path.index(after: $0)...] } ?? ""
    json.array(query.split(separator: "&")) { json, pair in
      let name = pair.prefix { $0 != "=" }
      json.pair(String(name), String(pair.dropFirst(name.count + 1)))
    }
  }
}

// MARK: JSON

extension ByteBuffer {
  fileprivate mutating func object(_ members: (inout ByteBuffer) -> Void) {
    writeString("{")
    members(&self)
    writeString("}")
  }

  /// A comma where this is not the first one.
  fileprivate mutating func member(_ name: StaticString, _ value: (inout ByteBuffer) -> Void) {
    writeStaticString(readableBytesView.last == UInt8(ascii: "{") ? "\"" : ",\"")
    writeStaticString(name)
    writeStaticString("\":")
    value(&self)
  }

  fileprivate mutating func array<Element>(
    _ elements: some Sequence<Element>, _ write: (inout ByteBuffer, Element) -> Void
  ) {
    writeString("[")
    for (index, element) in elements.enumerated() {
      if index > 0 { writeString(",") }
      write(&self, element)
    }
    writeString("]")
  }

  fileprivate mutating func pair(_ name: String, _ value: String) {
    object { json in
      json.member("name") { $0.writeJSON(name) }
      json.member("value") { $0.writeJSON(value) }
    }
  }

  fileprivate mutating func writeNumber(_ number: Double) {
    writeString("\(number)")
  }
}
