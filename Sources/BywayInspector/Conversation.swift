import Byway
import BywayHTTPWire
import BywayInterceptors
import BywayPrimitives
import NIOCore

/// The messages in the kept parts of an exchange's bodies: server-sent events, WebSockets and gRPC.
enum Conversation {
  enum Speaker: String, Sendable {
    case client, server
  }

  struct Message: Sendable, Equatable {
    /// When its last byte came, in milliseconds since 1970.
    let time: Double
    let from: Speaker
    /// `text`, or an event's name.
    let kind: String
    let bytes: Int
    /// `nil` if it is not text, or cannot be decoded here.
    let text: String?
  }

  /// The format of messages in a body.
  enum Form: Sendable {
    case events, frames, calls

    /// `nil` if the bodies have no messages, or the response is not known yet.
    init?(of inspected: InspectedExchange) {
      let type = { (fields: FieldSection?) in MediaType.essence(fields?.value(of: .contentType) ?? "") }
      if inspected.opensWebSocket {
        self = .frames
      } else if type(inspected.given) == "text/event-stream" {
        self = .events
      } else if type(inspected.record.head).hasPrefix("application/grpc") {
        self = .calls
      } else {
        return nil
      }
    }
  }

  private static let limit = 1000

  /// Returns the messages in order of arrival.
  static func messages(of inspected: InspectedExchange) -> [Message] {
    let down = KeptReader(inspected.responseBody, .server)
    let up = KeptReader(inspected.requestBody, .client)
    let found: [Message]
    switch inspected.form {
    case .frames where inspected.isOpenWebSocket: found = up.frames() + down.frames()
    case .events: found = down.events()
    case .calls: found = up.calls() + down.calls()
    case .frames, nil: return []
    }
    // Sorted by time; messages of one side keep their order.
    let sorted = found.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
    return sorted.suffix(limit).map(\.element)
  }
}

extension InspectedExchange {
  /// Whether it opens a WebSocket: CONNECT in HTTP/2 (RFC 8441), 101 in HTTP/1.1 (RFC 6455).
  fileprivate var opensWebSocket: Bool {
    record.head.value(of: .protocol) == "websocket" || sent?.value(of: .protocol) == "websocket" || given?.status == 101
  }

  /// Whether the WebSocket was accepted: a refusal has an ordinary body.
  fileprivate var isOpenWebSocket: Bool { record.status == 101 || record.status == 200 }
}

/// A reader of the messages of one side.
private struct KeptReader {
  private let bytes: ByteBufferView
  private let dropped: Int
  private let arrivals: [InspectedExchange.KeptBody.Arrival]
  private let speaker: Conversation.Speaker

  init(_ body: InspectedExchange.KeptBody, _ speaker: Conversation.Speaker) {
    bytes = body.kept.readableBytesView
    dropped = body.dropped
    arrivals = body.arrivals
    self.speaker = speaker
  }

  private func message(_ kind: String, _ content: some Collection<UInt8>, through end: Int) -> Conversation.Message {
    let place = dropped + end - bytes.startIndex
    let time = arrivals.first { $0.end >= place }?.time ?? arrivals.last?.time ?? 0
    return Conversation.Message(
      time: time, from: speaker, kind: kind, bytes: content.count, text: String(validating: content, as: UTF8.self))
  }

  // MARK: Server-sent events (HTML, §9.2.6)

  func events() -> [Conversation.Message] {
    var found: [Conversation.Message] = []
    var kind = "message"
    var data: [UInt8] = []
    var hasData = false
    var start = bytes.startIndex
    while let end = bytes[start...].firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) {
      let line = bytes[start..<end]
      start = bytes.index(after: end)
      if bytes[end] == 0x0D, start < bytes.endIndex, bytes[start] == 0x0A { start = bytes.index(after: start) }
      if line.isEmpty {
        if hasData { found.append(message(kind, data, through: start)) }
        (kind, data, hasData) = ("message", [], false)
        continue
      }
      let name = line.prefix { $0 != UInt8(ascii: ":") }
      let value = line.dropFirst(name.count + 1)
      let text = value.first == UInt8(ascii: " ") ? value.dropFirst() : value
      if name.elementsEqual("event".utf8) { kind = String(decoding: text, as: UTF8.self) }
      if name.elementsEqual("data".utf8) {
        if hasData { data.append(0x0A) }
        data += text
        hasData = true
      }
    }
    return found
  }

  // MARK: WebSocket (RFC 6455 §5.2)

  func frames() -> [Conversation.Message] {
    var found: [Conversation.Message] = []
    var rest = bytes
    while let first = rest.popFirst(), let second = rest.popFirst() {
      let extended = second & 0x7F == 126 ? 2 : second & 0x7F == 127 ? 8 : 0
      let isMasked = second & 0x80 != 0
      guard rest.count >= extended + (isMasked ? 4 : 0) else { break }
      var length = UInt64(second & 0x7F)
      if extended > 0 { length = rest.prefix(extended).reduce(0) { $0 << 8 | UInt64($1) } }
      rest = rest.dropFirst(extended)
      let mask = Array(rest.prefix(isMasked ? 4 : 0))
      rest = rest.dropFirst(mask.count)
      guard let count = Int(exactly: length), rest.count >= count else { break }
      let content = rest.prefix(count)
      rest = rest.dropFirst(count)
      let plain = mask.isEmpty ? Array(content) : content.enumerated().map { $1 ^ mask[$0 & 3] }
      // A message that an extension has encoded cannot be read as text.
      let isExtended = first & 0x70 != 0
      let kind = Self.opcodes[first & 0x0F] ?? "opcode \(first & 0x0F)"
      var message = message(isExtended ? "\(kind), compressed" : kind, plain, through: rest.startIndex)
      if isExtended || first & 0x0F == 2 {
        message = Conversation.Message(
          time: message.time, from: message.from, kind: message.kind, bytes: message.bytes, text: nil)
      }
      found.append(message)
    }
    return found
  }

  private static let opcodes: [UInt8: String] = [
    0: "continued", 1: "text", 2: "binary", 8: "close", 9: "ping", 10: "pong",
  ]

  // MARK: gRPC (gRPC over HTTP/2, "Length-Prefixed-Message")

  func calls() -> [Conversation.Message] {
    var found: [Conversation.Message] = []
    var rest = bytes
    while rest.count >= 5 {
      let isCompressed = rest.first == 1
      let length = Int(rest.dropFirst().prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
      guard rest.count - 5 >= length else { break }
      let content = rest.dropFirst(5).prefix(length)
      rest = rest.dropFirst(5 + length)
      let message = message(isCompressed ? "message, compressed" : "message", content, through: rest.startIndex)
      found.append(
        Conversation.Message(
          time: message.time, from: message.from, kind: message.kind, bytes: message.bytes, text: nil))
    }
    return found
  }
}

extension Conversation.Message {
  /// - Parameter redactor: `nil` if secrets are shown.
  func json(_ redactor: Redactor?) -> JSON {
    [
      "at": .number(time), "from": .string(from.rawValue), "kind": .string(kind), "bytes": .number(bytes),
      "text": text.map { .string(redactor?.redactedMessage($0) ?? $0) },
    ]
  }
}
