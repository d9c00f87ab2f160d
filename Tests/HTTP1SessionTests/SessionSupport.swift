import HTTP1Session
import HTTPWire
import NIOCore

/// A client's session, and what it said, in virtual time.
final class ClientEnd {
  let session: HTTP1ClientSession
  var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
  private(set) var events: [String] = []

  init(_ configuration: HTTP1ClientSession.Configuration = .init()) {
    session = HTTP1ClientSession(configuration: configuration, at: now)
  }

  func begin(
    _ method: String = "GET", _ fields: [(String, String)] = [], isComplete: Bool = true
  ) throws {
    var head: FieldSection = [":method": "\(method)", ":authority": method == "CONNECT" ? "here:1" : "here"]
    if method != "CONNECT" { head.append(.path, "/") }
    for (name, value) in fields { head.append(name: name, value: value) }
    try session.begin(head, isComplete: isComplete, readAhead: nil, at: now)
  }

  func receive(_ text: String) {
    session.receive(ByteBuffer(string: text), at: now)
    drain()
  }

  func receiveEnd() {
    session.receiveEnd(at: now)
    drain()
  }

  func write(_ text: String) { session.write(ByteBuffer(string: text), at: now) }

  func finish() {
    session.finish(trailers: nil, at: now)
    drain()
  }

  /// What goes on the wire now.
  func sent() -> String {
    var text = ""
    while let bytes = session.nextTransmit(maximum: .max, at: now) { text += String(buffer: bytes) }
    drain()
    return text
  }

  /// Lets time pass, as whoever drives the session does.
  func pass(_ time: TimeAmount) {
    let end = now + time
    while let deadline = session.nextDeadline, deadline <= end {
      now = max(now, deadline)
      session.handleTimeout(at: now)
      drain()
      if let next = session.nextDeadline, next <= deadline { break }
    }
    now = end
  }

  func drain() {
    while let event = session.nextEvent() {
      let text =
        switch event {
        case .informational(let fields): "informational \(fields.status ?? 0)"
        case .head(let fields, let isComplete): "head \(fields.status ?? 0)\(isComplete ? " complete" : "")"
        case .upgraded(let head): "upgraded \(head.status)"
        case .data(let bytes): "data \(String(buffer: bytes))"
        case .end(let trailers): "end\(trailers == nil ? "" : " trailers")"
        case .drained(let bytes): "drained \(bytes)"
        case .failed(let failure): "failed \(failure)"
        }
      events.append(text)
    }
  }

  func take() -> [String] {
    defer { events = [] }
    return events
  }
}

/// A server's session, and what it said, in virtual time.
final class ServerEnd {
  let session: HTTP1ServerSession
  var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
  private(set) var events: [String] = []

  init(_ timeouts: HTTP1ServerSession.Timeouts = .init()) {
    session = HTTP1ServerSession(timeouts: timeouts, at: now)
  }

  func receive(_ text: String) {
    session.receive(ByteBuffer(string: text), at: now)
    drain()
  }

  func receiveEnd() {
    session.receiveEnd(at: now)
    drain()
  }

  func respond(_ status: Int = 204, _ body: String? = nil) throws {
    try session.respond([":status": "\(status)"], isComplete: body == nil, at: now)
    if let body {
      try session.write(ByteBuffer(string: body))
      try session.finish(trailers: nil, at: now)
    }
    drain()
  }

  func sent() -> String {
    var text = ""
    while let bytes = session.nextTransmit(maximum: .max, at: now) { text += String(buffer: bytes) }
    drain()
    return text
  }

  func pass(_ time: TimeAmount) {
    let end = now + time
    while let deadline = session.nextDeadline, deadline <= end {
      now = max(now, deadline)
      session.handleTimeout(at: now)
      drain()
      if let next = session.nextDeadline, next <= deadline { break }
    }
    now = end
  }

  func drain() {
    while let event = session.nextEvent() {
      let text =
        switch event {
        case .head(let head): "head \(head.fields.value(of: .path) ?? "-")"
        case .content(let bytes): "content \(String(buffer: bytes))"
        case .end(let trailers): "end\(trailers == nil ? "" : " trailers")"
        case .drained(let bytes): "drained \(bytes)"
        case .refused(let failure): "refused \(failure.status)"
        case .closed: "closed"
        }
      events.append(text)
    }
  }

  func take() -> [String] {
    defer { events = [] }
    return events
  }
}
