/// A field section (RFC 9110 §5, §6.3): the head of a message, or its trailers, in one run of bytes.
///
/// Both HTTP framings read and write it, so that a forwarded message is never turned into strings on the way. Request
/// and response heads carry their control data as pseudo-header fields (RFC 9113 §8.3), whichever framing they came
/// in. Names are in lower case. Lines keep their order; pseudo-header fields may stand anywhere among them.
///
/// A value type of two arrays; not checked against any grammar: the parsers that fill it do that.
@usableFromInline
package struct FieldSection: Sendable {
  /// Where one field line stands in `bytes`.
  @usableFromInline
  package struct Line: Sendable {
    @usableFromInline package let field: KnownField
    /// The value must not enter a compression table (RFC 7541 §7.1.3).
    package var isSensitive: Bool
    @usableFromInline let start: UInt32
    @usableFromInline let nameCount: UInt32
    @usableFromInline let valueCount: UInt32

    package var nameRange: Range<Int> { Int(start)..<Int(start) + Int(nameCount) }
    package var valueRange: Range<Int> { nameRange.upperBound..<nameRange.upperBound + Int(valueCount) }
  }

  @usableFromInline package private(set) var lines: [Line]
  @usableFromInline private(set) var bytes: [UInt8]

  package init() {
    self.init(lineCapacity: 12, byteCapacity: 384)
  }

  package init(lineCapacity: Int, byteCapacity: Int = 384) {
    lines = []
    bytes = []
    lines.reserveCapacity(lineCapacity)
    bytes.reserveCapacity(byteCapacity)
  }

  package var isEmpty: Bool { lines.isEmpty }

  /// The section's size as RFC 9113 §6.5.2 counts it: names, values and 32 bytes a line.
  package var listSize: Int { lines.reduce(0) { $0 + Int($1.nameCount) + Int($1.valueCount) + 32 } }

  // MARK: Filling

  /// Appends a line; upper-case ASCII letters of the name are lowered.
  package mutating func append(
    name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, isSensitive: Bool = false
  ) {
    let start = bytes.count
    bytes.append(contentsOf: name)
    bytes.append(contentsOf: value)
    let field = bytes.withUnsafeMutableBytes { bytes in
      let name = UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + name.count])
      name.lowercaseASCII()
      return KnownField(lowercased: UnsafeRawBufferPointer(name))
    }
    lines.append(
      Line(
        field: field, isSensitive: isSensitive, start: UInt32(truncatingIfNeeded: start),
        nameCount: UInt32(truncatingIfNeeded: name.count), valueCount: UInt32(truncatingIfNeeded: value.count)))
  }

  package mutating func append(_ field: KnownField, _ value: UnsafeRawBufferPointer) {
    let start = bytes.count
    let name = field.name
    bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    bytes.append(contentsOf: value)
    lines.append(
      Line(
        field: field, isSensitive: false, start: UInt32(truncatingIfNeeded: start),
        nameCount: UInt32(truncatingIfNeeded: name.utf8CodeUnitCount),
        valueCount: UInt32(truncatingIfNeeded: value.count)))
  }

  package mutating func append(_ field: KnownField, _ value: String) {
    var value = value
    value.withUTF8 { append(field, UnsafeRawBufferPointer($0)) }
  }

  package mutating func append(_ field: KnownField, _ value: StaticString) {
    append(field, UnsafeRawBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount))
  }

  package mutating func append(name: String, value: String) {
    var name = name
    var value = value
    name.withUTF8 { name in
      value.withUTF8 { append(name: UnsafeRawBufferPointer(name), value: UnsafeRawBufferPointer($0)) }
    }
  }

  /// Copies one line of another section, or of this one.
  package mutating func append(_ line: Line, of other: FieldSection) {
    other.withBytes(of: line) { append(name: $0, value: $1, isSensitive: line.isSensitive) }
  }

  /// Removes lines; their bytes stay behind until the section is dropped.
  package mutating func removeAll(where shouldRemove: (Line) -> Bool) {
    lines.removeAll(where: shouldRemove)
  }

  /// Takes the last line back: a reader appends first and knows the field afterwards.
  package mutating func removeLast() {
    guard let line = lines.popLast() else { return }
    bytes.removeLast(bytes.count - Int(line.start))
  }

  package mutating func remove(_ field: KnownField) {
    if contains(field) { lines.removeAll { $0.field == field } }
  }

  /// Replaces every line of that field by one.
  package mutating func set(_ field: KnownField, _ value: String) {
    remove(field)
    append(field, value)
  }

  // MARK: Reading

  @inlinable
  package func withBytes<Result, Failure: Error>(
    of line: Line, _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let start = Int(line.start)
    let middle = start + Int(line.nameCount)
    let end = middle + Int(line.valueCount)
    return try bytes.withUnsafeBufferPointer { bytes throws(Failure) in
      let bytes = UnsafeRawBufferPointer(bytes)
      return try body(.init(rebasing: bytes[start..<middle]), .init(rebasing: bytes[middle..<end]))
    }
  }

  @inlinable
  package func contains(_ field: KnownField) -> Bool {
    lines.contains { $0.field == field }
  }

  /// The first line of that field.
  @inlinable
  package func first(_ field: KnownField) -> Line? {
    lines.first { $0.field == field }
  }

  /// The bytes of the first value of that field.
  @inlinable
  package func withValue<Result, Failure: Error>(
    of field: KnownField, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard let line = first(field) else { return nil }
    return try withBytes(of: line) { _, value throws(Failure) in try body(value) }
  }

  /// The first value of that field as text; bytes that are not UTF-8 become U+FFFD.
  package func value(of field: KnownField) -> String? {
    withValue(of: field) { String(decoding: $0, as: UTF8.self) }
  }

  /// All the bytes at once, and each line's place in them: for an encoder that takes pointers.
  package func withUnsafeLines<Result>(
    _ body: (_ lines: [Line], _ bytes: UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try bytes.withUnsafeBytes { try body(lines, $0) }
  }

  package func name(of line: Line) -> String {
    withBytes(of: line) { name, _ in String(decoding: name, as: UTF8.self) }
  }

  package func value(of line: Line) -> String {
    withBytes(of: line) { _, value in String(decoding: value, as: UTF8.self) }
  }

  /// The status code, where the section is a response's head.
  package var status: Int? {
    withValue(of: .status) { digits in
      guard digits.count == 3 else { return nil }
      var code = 0
      for digit in digits {
        guard digit &- 0x30 < 10 else { return nil }
        code = code * 10 + Int(digit &- 0x30)
      }
      return code
    } ?? nil
  }
}

extension FieldSection: Equatable {
  /// The same names and values in the same order.
  @usableFromInline
  package static func == (left: FieldSection, right: FieldSection) -> Bool {
    guard left.lines.count == right.lines.count else { return false }
    return zip(left.lines, right.lines).allSatisfy { leftLine, rightLine in
      left.withBytes(of: leftLine) { leftName, leftValue in
        right.withBytes(of: rightLine) { rightName, rightValue in
          leftName.elementsEqual(rightName) && leftValue.elementsEqual(rightValue)
        }
      }
    }
  }
}

extension FieldSection: CustomStringConvertible {
  @usableFromInline package var description: String {
    lines.map { "\(name(of: $0)): \(value(of: $0))" }.joined(separator: "\n")
  }
}

extension FieldSection: ExpressibleByDictionaryLiteral {
  @usableFromInline
  package init(dictionaryLiteral elements: (String, String)...) {
    self.init(lineCapacity: elements.count)
    for (name, value) in elements { append(name: name, value: value) }
  }
}
