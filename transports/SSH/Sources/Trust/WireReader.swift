/// Reads SSH's data types (RFC 4251 §5) from the front of a byte array. Returns `nil` if the bytes end too early.
struct WireReader {
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }
  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func byte() -> UInt8? { rest.popFirst() }

  mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
    guard count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  mutating func uint32() -> UInt32? {
    bytes(4)?.reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// Reads a string of arbitrary bytes.
  mutating func string() -> ArraySlice<UInt8>? {
    uint32().flatMap { bytes(Int($0)) }
  }

  mutating func text() -> String? {
    string().flatMap { String(validating: $0, as: UTF8.self) }
  }

  /// Reads a non-negative number, and returns it without leading zeros.
  mutating func mpint() -> ArraySlice<UInt8>? {
    guard let bytes = string(), bytes.first.map({ $0 < 0x80 }) ?? true else { return nil }
    return bytes.drop { $0 == 0 }
  }
}

/// Writes the data types of SSH (RFC 4251 §5).
struct WireWriter {
  private(set) var bytes: [UInt8] = []

  mutating func byte(_ byte: UInt8) { bytes.append(byte) }

  mutating func uint32(_ number: UInt32) {
    bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
  }

  mutating func string(_ string: some Collection<UInt8>) {
    uint32(UInt32(string.count))
    bytes += string
  }

  /// Writes a non-negative number, most significant byte first.
  mutating func mpint(_ number: some Collection<UInt8>) {
    let significant = number.drop { $0 == 0 }
    let sign: [UInt8] = significant.first.map { $0 >= 0x80 ? [0] : [] } ?? []
    string(sign + significant)
  }
}
