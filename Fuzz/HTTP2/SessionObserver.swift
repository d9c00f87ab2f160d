import BywayHTTP2Session
import BywayHTTPWire
import FuzzSupport
import NIOCore

/// An observer of the events of a session, which checks the order that `HTTP2Event` documents.
struct SessionObserver {
  struct Stream {
    var hasHead = false
    /// Whether the message of the peer is complete.
    var isComplete = false
    /// Whether the owner reset the stream: no more of its message may arrive.
    var isReset = false
    var unread = 0
  }

  let role: HTTP2Session.Role
  /// The streams that the owner knows and that are not closed.
  private(set) var streams: [StreamID: Stream] = [:]
  private var lastOpened: StreamID = 0
  private(set) var failure: HTTP2Failure?

  init(role: HTTP2Session.Role) {
    self.role = role
  }

  var unread: Int { streams.values.reduce(0) { $0 + $1.unread } }

  mutating func opened(_ id: StreamID) {
    streams[id] = Stream()
  }

  mutating func didReset(_ id: StreamID) {
    streams[id]?.isReset = true
  }

  /// - Returns: the number of bytes of that stream that waited to be read.
  mutating func read(_ id: StreamID, upTo count: Int) -> Int {
    let taken = min(count, streams[id]?.unread ?? 0)
    streams[id]?.unread -= taken
    return taken
  }

  mutating func hear(_ event: HTTP2Event) throws(Violation) {
    try expect(failure == nil, "after its end the session tells \(event)")
    switch event {
    case .head(let id, _, let isLast):
      if role == .server {
        try expect(streams[id] == nil && id > lastOpened, "stream \(id) begins twice")
        lastOpened = id
        streams[id] = Stream()
      }
      var stream = try message(of: id, event)
      try expect(!stream.hasHead, "a second head: \(event)")
      stream.hasHead = true
      stream.isComplete = isLast
      streams[id] = stream
    case .informational(let id, let head):
      let stream = try message(of: id, event)
      try expect(role == .client && !stream.hasHead && head.status.map { $0 < 200 } == true, "out of place: \(event)")
    case .data(let id, let bytes, let isLast):
      var stream = try message(of: id, event)
      try expect(stream.hasHead, "a body before its head: \(event)")
      stream.unread += bytes.readableBytes
      stream.isComplete = isLast
      streams[id] = stream
    case .trailers(let id, _):
      var stream = try message(of: id, event)
      try expect(stream.hasHead, "trailers before their head: \(event)")
      stream.isComplete = true
      streams[id] = stream
    case .drained(let id, _), .departed(let id, _):
      try expect(streams[id] != nil, "of a stream that is gone: \(event)")
    case .closed(let id, _, _):
      try expect(streams.removeValue(forKey: id) != nil, "closed twice, or never opened: \(event)")
    case .failed(let failure):
      try expect(streams.isEmpty, "the session ends before its streams \(streams.keys.sorted())")
      self.failure = failure
    case .settingsReceived, .violated, .pong, .goAway:
      break
    }
  }

  private func message(of id: StreamID, _ event: HTTP2Event) throws(Violation) -> Stream {
    guard let stream = streams[id] else { throw Violation("of a stream that is gone: \(event)") }
    try expect(!stream.isComplete, "after the message's end: \(event)")
    try expect(!stream.isReset, "after the stream was given up: \(event)")
    return stream
  }
}
