import HTTPWire
import NIOCore

/// What a session has to tell its owner, oldest first. What can be told with the event before is.
struct EventQueue {
  private var events: [HTTP2Event?] = []
  private var first = 0
  private var last = Last.other

  /// What the event is that came last, if it may be added to.
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

  /// The stream's body has ended.
  mutating func endData(of id: StreamID) {
    if last == .data(id), case .data(_, let bytes, _) = takeLast() {
      events.append(.data(id, bytes, endStream: true))
    } else {
      append(.data(id, ByteBuffer(), endStream: true))
    }
  }

  /// That many bytes of the stream have left.
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
