/// A piece: the unit of multiplexing in a session.
struct Piece: Equatable {
  enum Kind: UInt8 {
    case data = 1
    case end = 2
    case abort = 3
    case credit = 4
  }

  enum Content: Equatable {
    /// Data of at least one byte. A piece of the wire may come as several of these.
    case data([UInt8])
    case end
    case abort
    case credit(Int)
    /// A piece of an unknown kind, or with a length or credit of 0.
    case invalid
  }

  let stream: Int
  let content: Content
}

/// A reader of pieces from bytes that are split anywhere. It stores at most two bytes.
struct PieceReader: Sendable {
  private enum Expected {
    case kind
    case length(stream: Int)
    case data(stream: Int, left: Int)
    case units(stream: Int)
  }

  private var expected = Expected.kind

  /// Removes a piece from the bytes; `nil` if it is incomplete.
  mutating func next(_ bytes: inout Slice<UnsafeRawBufferPointer>) -> Piece? {
    while let first = bytes.first {
      switch expected {
      case .kind:
        bytes.removeFirst()
        let stream = Int(first & 0x0F)
        switch Piece.Kind(rawValue: first >> 4) {
        case .data: expected = .length(stream: stream)
        case .credit: expected = .units(stream: stream)
        case .end: return Piece(stream: stream, content: .end)
        case .abort: return Piece(stream: stream, content: .abort)
        case nil: return Piece(stream: stream, content: .invalid)
        }
      case .length(let stream):
        bytes.removeFirst()
        guard first > 0 else { return Piece(stream: stream, content: .invalid) }
        expected = .data(stream: stream, left: Int(first))
      case .data(let stream, let left):
        let content = Array(bytes.prefix(left))
        bytes.removeFirst(content.count)
        expected = content.count < left ? .data(stream: stream, left: left - content.count) : .kind
        return Piece(stream: stream, content: .data(content))
      case .units(let stream):
        bytes.removeFirst()
        expected = .kind
        return Piece(stream: stream, content: first > 0 ? .credit(Int(first)) : .invalid)
      }
    }
    return nil
  }
}
