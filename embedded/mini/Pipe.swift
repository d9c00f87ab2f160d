/// A direction of a connection: bytes that were read at its source and are not yet written to its sink.
struct Pipe {
  enum State {
    /// The source may send more.
    case flowing
    /// The source has ended. The sink learns that behind the bytes that wait.
    case ended
    /// The sink takes nothing more. What the source still sends is dropped, as its peer may read an answer only after that.
    case dropping
    /// The sink knows the end.
    case closed
  }

  private let bytes: UnsafeMutablePointer<UInt8>
  private let capacity: Int
  private var first = 0
  private var last = 0
  private(set) var state = State.flowing
  /// Whether the source has ever sent bytes.
  private(set) var hasBegun = false

  init(_ bytes: UnsafeMutablePointer<UInt8>, capacity: Int) {
    self.bytes = bytes
    self.capacity = capacity
  }

  var isEmpty: Bool { first == last }

  /// Whether bytes of the source can be taken.
  var wantsMore: Bool { state == .flowing && last < capacity || state == .dropping }

  /// Whether the end of the source must be told to the sink now.
  var owesEnd: Bool { state == .ended && isEmpty }

  var isClosed: Bool { state == .closed }

  /// The place for bytes of the source.
  var room: (start: UnsafeMutablePointer<UInt8>, count: Int) { (bytes + last, capacity - last) }

  /// Moves what waits to the beginning, so that all of the room is in one piece.
  mutating func compact() {
    guard first > 0 else { return }
    for index in 0..<(last - first) { bytes[index] = bytes[first + index] }
    last -= first
    first = 0
  }

  /// The bytes for the sink.
  var waiting: (start: UnsafeMutablePointer<UInt8>, count: Int) { (bytes + first, last - first) }

  /// Notes bytes in the room.
  mutating func added(_ count: Int) {
    hasBegun = true
    if state == .flowing { last += count }
  }

  /// Notes bytes that the sink has taken.
  mutating func removed(_ count: Int) {
    first += count
    if isEmpty { drop() }
  }

  /// The source has ended.
  mutating func end() {
    if state == .flowing { state = .ended }
    if state == .dropping { state = .closed }
  }

  /// The sink knows the end.
  mutating func close() {
    state = .closed
  }

  /// The sink takes nothing more.
  mutating func refuse() {
    drop()
    state = state == .flowing ? .dropping : .closed
  }

  private mutating func drop() {
    first = 0
    last = 0
  }
}
