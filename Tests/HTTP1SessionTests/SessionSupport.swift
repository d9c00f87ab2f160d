import BywayHTTP1Session
import BywayHTTPWire
import NIOCore

/// An end of a connection in virtual time, with the events of its session.
class SessionEnd<Session: ConnectionSession> {
  let session: Session
  var now: NIODeadline
  private var events: [String] = []

  init(_ session: (NIODeadline) -> Session) {
    now = .uptimeNanoseconds(1_000_000_000)
    self.session = session(now)
  }

  /// Returns the text of an event in expectations.
  func text(of event: Session.Event) -> String { "" }

  func receive(_ text: String) {
    session.receive(ByteBuffer(string: text), at: now)
    drain()
  }

  func receiveEnd() {
    session.receiveEnd(at: now)
    drain()
  }

  /// Returns the bytes that the session sends now.
  func sent() -> String {
    var text = ""
    while let bytes = session.nextTransmit(maximum: .max, at: now) { text += String(buffer: bytes) }
    drain()
    return text
  }

  /// Advances time, and handles timeouts as the session's owner does.
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
    while let event = session.nextEvent() { events.append(text(of: event)) }
  }

  func take() -> [String] {
    defer { events = [] }
    return events
  }
}

final class ClientEnd: SessionEnd<HTTP1ClientSession> {
  init(_ configuration: HTTP1ClientSession.Configuration = .init()) {
    super.init { HTTP1ClientSession(configuration: configuration, at: $0) }
  }

  func begin(_ method: String = "GET", _ fields: [(String, String)] = [], isComplete: Bool = true) throws {
    var head: FieldSection = [":method": "\(method)", ":authority": method == "CONNECT" ? "here:1" : "here"]
    if method != "CONNECT" { head.append(.path, "/") }
    for (name, value) in fields { head.append(name: name, value: value) }
    try session.begin(head, isComplete: isComplete, readAhead: nil, at: now)
  }

  func write(_ text: String) { session.write(ByteBuffer(string: text), at: now) }

  func finish() {
    session.finish(trailers: nil, at: now)
    drain()
  }

  override func text(of event: HTTP1ClientEvent) -> String {
    switch event {
    case .informational(let fields): "informational \(fields.status ?? 0)"
    case .head(let fields, let isComplete): "head \(fields.status ?? 0)\(isComplete ? " complete" : "")"
    case .upgraded(let head): "upgraded \(head.status)"
    case .data(let bytes): "data \(String(buffer: bytes))"
    case .end(let trailers): "end\(trailers == nil ? "" : " trailers")"
    case .drained(let bytes): "drained \(bytes)"
    case .failed(let failure): "failed \(failure)"
    }
  }
}

final class ServerEnd: SessionEnd<HTTP1ServerSession> {
  init(_ timeouts: HTTP1ServerSession.Timeouts = .init()) {
    super.init { HTTP1ServerSession(timeouts: timeouts, at: $0) }
  }

  func respond(_ status: Int = 204, _ body: String? = nil) throws {
    try session.respond([":status": "\(status)"], isComplete: body == nil, at: now)
    if let body {
      try session.write(ByteBuffer(string: body))
      try session.finish(trailers: nil, at: now)
    }
    drain()
  }

  override func text(of event: HTTP1ServerEvent) -> String {
    switch event {
    case .head(let head): "head \(head.fields.value(of: .path) ?? "-")"
    case .content(let bytes): "content \(String(buffer: bytes))"
    case .end(let trailers): "end\(trailers == nil ? "" : " trailers")"
    case .drained(let bytes): "drained \(bytes)"
    case .refused(let failure): "refused \(failure.status)"
    case .closed: "closed"
    }
  }
}
