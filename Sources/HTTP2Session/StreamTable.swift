/// The open streams, by number.
///
/// Each frame needs a look-up or two, so this is a hash table whose hash is one multiplication: a peer that chose
/// numbers to collide would have its own streams only to slow down. Collisions go to the next free place.
struct StreamTable {
  private(set) var count = 0
  /// A power of two, at most half full.
  private var places: [HTTP2Stream?] = Array(repeating: nil, count: 16)

  var isEmpty: Bool { count == 0 }

  subscript(id: StreamID) -> HTTP2Stream? {
    var place = home(of: id)
    while let stream = places[place] {
      if stream.id == id { return stream }
      place = next(place)
    }
    return nil
  }

  /// The number must not be in the table.
  mutating func insert(_ stream: HTTP2Stream) {
    if 2 * count >= places.count { resize() }
    count += 1
    place(stream)
  }

  @discardableResult
  mutating func remove(_ id: StreamID) -> HTTP2Stream? {
    var hole = home(of: id)
    while let stream = places[hole], stream.id != id { hole = next(hole) }
    guard let removed = places[hole] else { return nil }
    count -= 1
    // Those behind it that could stand in the hole move up, or a look-up would stop at it.
    var place = next(hole)
    while let stream = places[place] {
      let distance = (place - home(of: stream.id)) & mask
      if distance >= (place - hole) & mask {
        places[hole] = stream
        hole = place
      }
      place = next(place)
    }
    places[hole] = nil
    return removed
  }

  /// In the order of their numbers.
  var all: [HTTP2Stream] {
    places.compactMap { $0 }.sorted { $0.id < $1.id }
  }

  private var mask: Int { places.count - 1 }

  private func home(of id: StreamID) -> Int { Int((UInt32(bitPattern: id) &* 0x9E37_79B1) >> 16) & mask }

  private func next(_ place: Int) -> Int { (place + 1) & mask }

  private mutating func place(_ stream: HTTP2Stream) {
    var place = home(of: stream.id)
    while places[place] != nil { place = next(place) }
    places[place] = stream
  }

  private mutating func resize() {
    let streams = places
    places = Array(repeating: nil, count: 2 * streams.count)
    for case .some(let stream) in streams { place(stream) }
  }
}
