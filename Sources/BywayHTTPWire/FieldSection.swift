/// A field section (RFC 9110 §5, §6.3) in one block of bytes: the head of a message, or its trailers.
///
/// Both HTTP framings read and write it, so that a forwarded message is never converted to strings. Request and response heads
/// contain their control data as pseudo-header fields (RFC 9113 §8.3) in either framing. Names are in lower case. Lines keep
/// their order; pseudo-header fields may be anywhere among them.
///
/// A value type whose copies share memory until one of them is changed. It checks no grammar: the parsers that fill it do.
///
/// `@unchecked Sendable`: shared memory is never written to.
@usableFromInline
package struct FieldSection: @unchecked Sendable {
  /// The position of one field line in the bytes of its section.
  @usableFromInline
  package struct Line: Sendable {
    @usableFromInline package let field: KnownField
    /// Whether the value must not enter a compression table (RFC 7541 §7.1.3).
    package let isSensitive: Bool
    @usableFromInline let start: UInt32
    @usableFromInline let nameCount: UInt32
    @usableFromInline let valueCount: UInt32

    @inlinable package var nameRange: Range<Int> { Int(start)..<Int(start) + Int(nameCount) }
    @inlinable package var valueRange: Range<Int> {
      let start = Int(start) + Int(nameCount)
      return start..<start + Int(valueCount)
    }
  }

  /// The memory; `nil` if no line was ever added.
  @usableFromInline private(set) var storage: FieldStorage?

  package init() {}

  package init(lineCapacity: Int, byteCapacity: Int = 384) {
    if lineCapacity > 0 { storage = .make(slots: FieldStorage.slots(lines: lineCapacity, bytes: byteCapacity)) }
  }

  /// The number of bytes of all names and values.
  @inlinable package var byteCount: Int { storage?.header.byteCount ?? 0 }

  /// The size by RFC 9113 §6.5.2: each line counts 32 bytes in addition to its name and value.
  package var listSize: Int { storage.map { $0.header.byteCount + 32 * $0.header.lineCount } ?? 0 }

  @inlinable package var isEmpty: Bool { storage.map { $0.header.lineCount == 0 } ?? true }

  // MARK: Filling

  /// Appends a line. Upper-case ASCII letters of the name are changed to lower case.
  package mutating func append(
    name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, isSensitive: Bool = false
  ) {
    _ = appendClassified(name: name, value: value, isSensitive: isSensitive)
  }

  /// Appends a line as `append` does.
  /// - Returns: the field of its name.
  package mutating func appendClassified(
    name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, isSensitive: Bool = false
  ) -> KnownField {
    makeRoom(for: name.count + value.count)
    return storage?.append(nil, name: name, value: value, isSensitive: isSensitive) ?? .other
  }

  package mutating func append(_ field: KnownField, _ value: UnsafeRawBufferPointer) {
    let name = field.name
    makeRoom(for: name.utf8CodeUnitCount + value.count)
    storage?.append(
      field, name: UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), value: value,
      isSensitive: false)
  }

  package mutating func append(_ field: KnownField, _ value: String) {
    value.utf8Span.span.bytes.withUnsafeBytes { append(field, $0) }
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

  package mutating func removeAll(where shouldRemove: (Line) -> Bool) {
    guard storage != nil else { return }
    makeUnique()
    storage?.removeAll(where: shouldRemove)
  }

  /// Removes the last line. A reader appends a line first, and only then knows its field.
  package mutating func removeLast() {
    guard !isEmpty else { return }
    makeUnique()
    storage?.removeLast()
  }

  package mutating func remove(_ field: KnownField) {
    if contains(field) { removeAll { $0.field == field } }
  }

  /// Replaces all lines of that field with one.
  package mutating func set(_ field: KnownField, _ value: String) {
    remove(field)
    append(field, value)
  }

  /// Adds a member to a list field, and joins its lines into one (RFC 9110 §5.3).
  package mutating func append(member: String, to field: KnownField) {
    guard contains(field) else { return append(field, member) }
    var count = member.utf8.count
    forEachLine { line, _, value in
      if line.field == field { count += value.count + 2 }
    }
    withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { list in
      var end = 0
      func add(_ bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: list[end...]).copyMemory(from: bytes)
        end += bytes.count
      }
      forEachLine { line, _, value in
        let value = FieldGrammar.trim(value)
        guard line.field == field, !value.isEmpty else { return }
        add(value)
        ", ".withBytes(add)
      }
      member.withBytes(add)
      remove(field)
      append(field, UnsafeRawBufferPointer(rebasing: list[..<end]))
    }
  }

  @inline(__always)
  private mutating func makeRoom(for byteCount: Int) {
    if isKnownUniquelyReferenced(&storage), storage?.hasRoom(for: byteCount) == true { return }
    grow(by: byteCount)
  }

  private mutating func grow(by byteCount: Int) {
    storage = .make(copying: storage, adding: byteCount)
  }

  private mutating func makeUnique() {
    if !isKnownUniquelyReferenced(&storage) { storage = .make(copying: storage, adding: 0) }
  }

  // MARK: Reading

  /// The lines in order.
  @inlinable package var lines: Lines { Lines(of: self) }

  @inlinable
  package func withBytes<Result, Failure: Error>(
    of line: Line, _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafeBytes { bytes throws(Failure) in
      precondition(line.valueRange.upperBound <= bytes.count, "The line is of another section.")
      return try body(.init(rebasing: bytes[line.nameRange]), .init(rebasing: bytes[line.valueRange]))
    }
  }

  /// Calls a closure for each line and its bytes, in order.
  @inlinable
  package func forEachLine<Failure: Error>(
    _ body: (Line, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    try withExtendedLifetime(self) { () throws(Failure) in
      guard let bytes = storage?.unsafeBytes, let lines = storage?.unsafeLines else { return }
      for line in lines.reversed() {
        try body(line, .init(rebasing: bytes[line.nameRange]), .init(rebasing: bytes[line.valueRange]))
      }
    }
  }

  @inlinable
  package func contains(_ field: KnownField) -> Bool {
    storage.map { $0.header.present & field.bit != 0 } ?? false
  }

  /// Returns the first line of that field.
  @inlinable
  package func first(_ field: KnownField) -> Line? {
    storage?.first(field)
  }

  /// Passes the first value of that field to a closure.
  @inlinable
  package func withValue<Result, Failure: Error>(
    of field: KnownField, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard let line = first(field) else { return nil }
    return try withBytes(of: line) { _, value throws(Failure) in try body(value) }
  }

  /// Returns the first value of that field as text. Bytes that are not UTF-8 become U+FFFD.
  package func value(of field: KnownField) -> String? {
    withValue(of: field) { String(decoding: $0, as: UTF8.self) }
  }

  /// Passes all bytes to a closure, for an encoder that takes pointers. ``Line/nameRange`` and ``Line/valueRange`` are ranges
  /// in them.
  @inlinable
  package func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // A borrowed section keeps its storage alive, so no reference counting is needed.
    try withExtendedLifetime(self) { () throws(Failure) in
      try body(storage?.unsafeBytes ?? UnsafeRawBufferPointer(start: nil, count: 0))
    }
  }

  package func name(of line: Line) -> String {
    withBytes(of: line) { name, _ in String(decoding: name, as: UTF8.self) }
  }

  package func value(of line: Line) -> String {
    withBytes(of: line) { _, value in String(decoding: value, as: UTF8.self) }
  }

  /// The status code, if the section is the head of a response.
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

extension FieldSection {
  @usableFromInline
  package struct Lines: RandomAccessCollection, Sendable {
    @usableFromInline let section: FieldSection

    @usableFromInline package typealias Index = Int

    @inlinable
    init(of section: FieldSection) {
      self.section = section
    }

    @inlinable package var startIndex: Int { 0 }
    @inlinable package var endIndex: Int { section.storage?.header.lineCount ?? 0 }

    @inlinable
    package subscript(index: Int) -> Line {
      guard let storage = section.storage, index >= 0, index < storage.header.lineCount else {
        preconditionFailure("There is no such line.")
      }
      return storage[index]
    }
  }
}

extension FieldSection: Equatable {
  /// Whether both have the same names and values in the same order.
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
