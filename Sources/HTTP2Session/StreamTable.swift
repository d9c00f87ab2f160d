import HTTPWire

/// The open streams, by number: a hash table with a list for each place.
///
/// Numbers count up by two, so that as many streams as there are places have one each. A peer that chose numbers to
/// collide would have its own streams only to slow down, and may not have many.
struct StreamTable {
  private(set) var count = 0
  /// A power of two, and no fewer than streams.
  private var places: [HTTP2Stream?] = Array(repeating: nil, count: 16)

  var isEmpty: Bool { count == 0 }

  @inline(__always)
  subscript(id: StreamID) -> HTTP2Stream? {
    var found = places[place(of: id)]
    while let stream = found, stream.id != id { found = stream.next }
    return found
  }

  func contains(_ id: StreamID) -> Bool {
    self[id] != nil
  }

  /// The number must not be in the table.
  mutating func insert(_ stream: HTTP2Stream) {
    if count == places.count { grow() }
    count += 1
    link(stream)
  }

  @discardableResult
  mutating func remove(_ id: StreamID) -> HTTP2Stream? {
    let place = place(of: id)
    guard let first = places[place] else { return nil }
    if first.id == id {
      places[place] = first.next.take()
      count -= 1
      return first
    }
    var previous = first
    while let stream = previous.next {
      if stream.id == id {
        previous.next = stream.next.take()
        count -= 1
        return stream
      }
      previous = stream
    }
    return nil
  }

  /// In the order of their numbers.
  var all: [HTTP2Stream] {
    var streams: [HTTP2Stream] = []
    streams.reserveCapacity(count)
    for first in places {
      var next = first
      while let stream = next {
        streams.append(stream)
        next = stream.next
      }
    }
    return streams.sorted { $0.id < $1.id }
  }

  private func place(of id: StreamID) -> Int { Int(UInt32(bitPattern: id) >> 1) & (places.count - 1) }

  private mutating func link(_ stream: HTTP2Stream) {
    let place = place(of: stream.id)
    stream.next = places[place].take()
    places[place] = stream
  }

  private mutating func grow() {
    let streams = all
    places = Array(repeating: nil, count: 2 * places.count)
    for stream in streams {
      stream.next = nil
      link(stream)
    }
  }
}
