import BywayHTTP2Session
import BywayHTTPWire
import FuzzSupport
import HTTP1Checks
import NIOCore

/// Requests that arrive by HTTP/1.1 and leave by HTTP/2, as through a proxy. The next hop must read exactly these, or refuse
/// them one by one.
enum ForwardedRequests {
  static func check(_ script: Script) throws(Violation) {
    var script = script
    let now = NIODeadline.uptimeNanoseconds(1)
    let messages = ForwardedMessage.complete(readRequests([script.all()], closed: true)).prefix(20)
    guard !messages.isEmpty else { return }
    var pair = Pair(now: now)
    try pair.exchange()
    var sent: [StreamID: ForwardedMessage] = [:]
    for message in messages {
      guard let id = pair.send(message) else { throw Violation("cannot be sent: \(message.head)") }
      sent[id] = message
    }
    try pair.exchange()
    try expect(pair.client.failure == nil, "the sender's connection ends: \(String(describing: pair.client.failure))")
    try expect(
      pair.server.failure == nil, "the next hop ends the connection: \(String(describing: pair.server.failure))")
    for (id, message) in sent {
      guard let head = pair.heads[id] else {
        try expect(!pair.fromServer.streams.keys.contains(id), "neither read nor refused: \(message.head)")
        continue
      }
      try expect(lines(of: head) == lines(of: message.head), "\(message.head)\nwas read as\n\(head)")
      if pair.complete.contains(id) {
        try expect(pair.bodies[id] ?? [] == message.body, "another body arrived on stream \(id)")
        try expect(
          lines(of: pair.trailers[id]) == lines(of: message.trailers), "other trailers arrived on stream \(id)")
      }
    }
    try expect(Set(pair.heads.keys).isSubset(of: sent.keys), "\(pair.heads.keys) were read of \(sent.keys)")
  }

  /// Returns the lines of a section with control data first.
  private static func lines(of section: FieldSection?) -> [String] {
    guard let section else { return [] }
    let lines = section.lines.map { "\(section.name(of: $0)): \(section.value(of: $0))" }
    return lines.filter { $0.hasPrefix(":") }.sorted() + lines.filter { !$0.hasPrefix(":") }
  }
}

/// A sender and the next hop, which reads everything at once and sends no responses.
private struct Pair {
  let client: HTTP2Session
  let server: HTTP2Session
  let now: NIODeadline
  var fromClient = SessionObserver(role: .server)
  var fromServer = SessionObserver(role: .client)
  var heads: [StreamID: FieldSection] = [:]
  var bodies: [StreamID: [UInt8]] = [:]
  var trailers: [StreamID: FieldSection] = [:]
  var complete: Set<StreamID> = []

  init(now: NIODeadline) {
    self.now = now
    client = HTTP2Session(role: .client, at: now)
    server = HTTP2Session(role: .server, at: now)
  }

  mutating func send(_ message: ForwardedMessage) -> StreamID? {
    let isLast = message.body.isEmpty && message.trailers == nil
    guard let id = try? client.submitRequest(message.head, endStream: isLast) else { return nil }
    fromServer.opened(id)
    if !isLast {
      client.write(id, ByteBuffer(bytes: message.body))
      client.finish(id, trailers: message.trailers)
    }
    return id
  }

  mutating func exchange() throws(Violation) {
    for _ in 0..<1000 {
      let count = carry(from: client, to: server) + carry(from: server, to: client)
      while let event = client.nextEvent() { try fromServer.hear(event) }
      while let event = server.nextEvent() {
        try fromClient.hear(event)
        note(event)
      }
      if count == 0 { return }
    }
    throw Violation("two sessions never stop talking")
  }

  private func carry(from source: HTTP2Session, to target: HTTP2Session) -> Int {
    var bytes = ByteBuffer()
    source.nextTransmit(maximum: 1 << 16, into: &bytes, at: now)
    target.receive(bytes, at: now)
    return bytes.readableBytes
  }

  private mutating func note(_ event: HTTP2Event) {
    switch event {
    case .head(let id, let head, let isLast):
      heads[id] = head
      if isLast { complete.insert(id) }
    case .data(let id, let bytes, let isLast):
      bodies[id, default: []] += bytes.readableBytesView
      server.consume(id, bytes: bytes.readableBytes)
      if isLast { complete.insert(id) }
    case .trailers(let id, let section):
      trailers[id] = section
      complete.insert(id)
    default: break
    }
  }
}
