/// An input read as orders, byte by byte; zeros after its end.
package struct Script {
  private var rest: ArraySlice<UInt8>

  package init(_ bytes: some Sequence<UInt8>) {
    rest = Array(bytes)[...]
  }

  package var isEmpty: Bool { rest.isEmpty }

  package mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }
  package mutating func short() -> Int { Int(byte()) << 8 | Int(byte()) }

  /// A length and so many bytes, or as many as there are.
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
  /// Into pieces of 1 byte to eight, by a sequence that the seed begins.
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
