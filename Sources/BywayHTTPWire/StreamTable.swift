/// A map from stream numbers to values: a hash table that uses the numbers themselves as hashes.
///
/// Numbers increase by two, so streams that are open together have adjacent places. A peer that chose numbers to collide would
/// only slow down its own streams, and it may not have many.
@usableFromInline
package struct StreamTable<Value> {
  @usableFromInline
  struct Place {
    /// The stream number. Zero marks a free place, because it is the number of the connection itself (RFC 9113 §5.1.1).
    @usableFromInline var id: StreamID
    @usableFromInline var value: Value?

    @inlinable
    init(_ id: StreamID, _ value: Value?) {
      self.id = id
      self.value = value
    }
  }

  @usableFromInline package private(set) var count = 0
  /// The places, a power of two, of which at most half are used. Values are ordered by their home places ("Robin Hood
  /// hashing"). So a search ends at the first value that is nearer to its own home, and never walks along a row of neighbours
  /// that are all at home.
  @usableFromInline private(set) var places = [Place](repeating: Place(0, nil), count: 32)

  package init() {}

  @inlinable package var isEmpty: Bool { count == 0 }

  @inlinable
  package func contains(_ id: StreamID) -> Bool {
    place(of: id) != nil
  }

  /// The value of a stream. Setting `nil` removes it.
  @inlinable
  package subscript(id: StreamID) -> Value? {
    get { place(of: id).flatMap { places[$0].value } }
    set {
      guard let newValue else { return _ = remove(id) }
      if let place = place(of: id) { places[place].value = newValue } else { insert(Place(id, newValue)) }
    }
  }

  @inlinable
  @discardableResult
  package mutating func remove(_ id: StreamID) -> Value? {
    guard var free = place(of: id) else { return nil }
    let value = places[free].value.take()
    places[free].id = 0
    count -= 1
    // Values that belong closer to this place move up.
    var next = after(free)
    while places[next].id != 0, steps(to: next, for: places[next].id) > 0 {
      places.swapAt(free, next)
      free = next
      next = after(next)
    }
    return value
  }

  /// The stream numbers in ascending order.
  package var ids: [StreamID] { places.map(\.id).filter { $0 != 0 }.sorted() }

  /// The values in the order of their numbers.
  package var values: [Value] {
    places.filter { $0.id != 0 }.sorted { $0.id < $1.id }.compactMap(\.value)
  }

  @inlinable
  mutating func insert(_ entry: consuming Place) {
    if 2 * (count + 1) > places.count { grow() }
    count += 1
    var place = home(of: entry.id)
    while places[place].id != 0 {
      if steps(to: place, for: places[place].id) < steps(to: place, for: entry.id) { swap(&places[place], &entry) }
      place = after(place)
    }
    places[place] = entry
  }

  @usableFromInline
  mutating func grow() {
    let taken = places.filter { $0.id != 0 }
    places = [Place](repeating: Place(0, nil), count: 2 * places.count)
    count = 0
    for entry in taken { insert(entry) }
  }

  // MARK: Places

  @inlinable
  func place(of id: StreamID) -> Int? {
    guard id != 0 else { return nil }
    var place = home(of: id)
    while places[place].id != id {
      let other = places[place].id
      if other == 0 || steps(to: place, for: other) < steps(to: place, for: id) { return nil }
      place = after(place)
    }
    return place
  }

  @inlinable func home(of id: StreamID) -> Int { Int(UInt32(bitPattern: id) >> 1) & (places.count - 1) }

  @inlinable func after(_ place: Int) -> Int { (place + 1) & (places.count - 1) }

  /// The distance of a place from a number's home, with wrap-around.
  @inlinable func steps(to place: Int, for id: StreamID) -> Int { (place - home(of: id)) & (places.count - 1) }
}
