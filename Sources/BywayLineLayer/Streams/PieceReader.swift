/// A part of what a session carries.
struct Piece: Equatable {
  enum Kind: UInt8 {
    case data = 1
    case end = 2
    case abort = 3
    case credit = 4
  }

  enum Content: Equatable {
    /// At least one byte; a piece of the wire may arrive in several.
    case data([UInt8])
    case end
    case abort
    case credit(Int)
    /// An unknown kind, or a length or units of 0.
    case invalid
  }

  let stream: Int
  let content: Content
}

/// Reads pieces from bytes that are cut anywhere. Keeps at most two bytes.
struct PieceReader: Sendable {
  private enum Expected {
    case kind
    case length(stream: Int)
    case data(stream: Int, left: Int)
    case units(stream: Int)
  }

  private var expected = Expected.kind

  /// Removes a piece from the bytes; `nil` if they end before it is complete.
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
