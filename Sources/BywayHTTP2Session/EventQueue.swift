import BywayHTTPWire
import NIOCore

/// The events of a session for its owner, oldest first. An event is merged into the previous one where possible.
struct EventQueue {
  private var events: [HTTP2Event?] = []
  private var first = 0
  private var last = Last.other

  /// The kind of the latest event, if it may be extended.
  private enum Last: Equatable {
    case data(StreamID)
    case drained(StreamID)
    case other
  }

  mutating func append(_ event: consuming HTTP2Event) {
    last =
      switch event {
      case .data(let id, _, _): .data(id)
      case .drained(let id, _): .drained(id)
      default: .other
      }
    events.append(event)
  }

  mutating func popFirst() -> HTTP2Event? {
    guard first < events.count else { return nil }
    let event = events[first].take()
    first += 1
    if first == events.count {
      events.removeAll(keepingCapacity: true)
      first = 0
      last = .other
    }
    return event
  }

  /// Records the end of the stream's body.
  mutating func endData(of id: StreamID) {
    if last == .data(id), case .data(_, let bytes, _) = takeLast() {
      events.append(.data(id, bytes, endStream: true))
    } else {
      append(.data(id, ByteBuffer(), endStream: true))
    }
  }

  /// Records that `count` bytes of the stream were sent.
  mutating func drained(_ id: StreamID, _ count: Int) {
    if last == .drained(id), case .drained(_, let bytes) = takeLast() {
      events.append(.drained(id, bytes: bytes + count))
    } else {
      append(.drained(id, bytes: count))
    }
  }

  private mutating func takeLast() -> HTTP2Event? {
    events.popLast() ?? nil
  }
}
