/// An input that is read as commands, byte by byte, with zeros after its end.
package struct Script {
  private var rest: ArraySlice<UInt8>

  package init(_ bytes: some Sequence<UInt8>) {
    rest = Array(bytes)[...]
  }

  package var isEmpty: Bool { rest.isEmpty }

  package mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }
  package mutating func short() -> Int { Int(byte()) << 8 | Int(byte()) }

  /// Returns the bytes after a length, at most that many.
  package mutating func bytes() -> [UInt8] {
    let count = min(Int(byte()), rest.count)
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  package mutating func all() -> [UInt8] {
    defer { rest = [] }
    return Array(rest)
  }
}

extension Sequence<UInt8> {
  /// Cuts the rest into pieces of one to eight bytes, by a pseudo-random sequence from the seed.
  package func cut(like seed: UInt8) -> [[UInt8]] {
    var state = UInt32(seed)
    var pieces: [[UInt8]] = []
    var rest = Array(self)[...]
    while !rest.isEmpty {
      state = state &* 1_664_525 &+ 1_013_904_223
      let count = Int(state >> 24 & 7) + 1
      pieces.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return pieces
  }
}
