/// The memory of a ``FieldSection`` in one block, organized like a slotted page. The bytes of names and values fill it from the
/// front. The lines, which contain their positions, fill it from the back.
@usableFromInline
final class FieldStorage: ManagedBuffer<FieldStorage.Header, FieldSection.Line> {
  @usableFromInline
  struct Header {
    /// The size of the block, in lines.
    @usableFromInline let slots: Int
    @usableFromInline var byteCount = 0
    @usableFromInline var lineCount = 0
    /// A bit mask of the known fields: bit n is set if a line has the field with raw value n.
    @usableFromInline var present: UInt64 = 0

    init(slots: Int) {
      self.slots = slots
    }
  }

  /// The usual size: twelve lines of 32 bytes, which is enough for most messages.
  private static let usualSlots = 36
  private static let slotSize = MemoryLayout<FieldSection.Line>.stride

  static func make(slots: Int) -> FieldStorage {
    unsafeDowncast(create(minimumCapacity: slots) { _ in Header(slots: slots) }, to: FieldStorage.self)
  }

  static func slots(lines: Int, bytes: Int) -> Int {
    lines + (bytes + slotSize - 1) / slotSize
  }

  /// Copies another storage, with room for one more line of that many bytes.
  static func make(copying other: FieldStorage?, adding byteCount: Int) -> FieldStorage {
    guard let other else { return make(slots: max(usualSlots, slots(lines: 1, bytes: byteCount))) }
    let needed = slots(lines: other.header.lineCount + 1, bytes: other.header.byteCount + byteCount)
    let copy = make(slots: needed <= other.header.slots ? other.header.slots : max(needed, 2 * other.header.slots))
    copy.header.byteCount = other.header.byteCount
    copy.header.lineCount = other.header.lineCount
    copy.header.present = other.header.present
    let bytes = other.unsafeBytes
    copy.mutableBytes(from: 0, count: bytes.count).copyMemory(from: bytes)
    for index in 0..<other.header.lineCount { copy[index] = other[index] }
    return copy
  }

  @inline(__always)
  func hasRoom(for byteCount: Int) -> Bool {
    withUnsafeMutablePointerToHeader { header in
      header.pointee.byteCount + byteCount
        <= (header.pointee.slots - header.pointee.lineCount - 1) * Self.slotSize
    }
  }

  // MARK: Reading

  /// The bytes of names and values. Valid while the storage lives and is not written to.
  @inlinable var unsafeBytes: UnsafeRawBufferPointer {
    withUnsafeMutablePointers { UnsafeRawBufferPointer(start: $1, count: $0.pointee.byteCount) }
  }

  /// The lines, last one first. Valid while the storage lives and is not written to.
  @inlinable var unsafeLines: UnsafeBufferPointer<FieldSection.Line> {
    withUnsafeMutablePointers { header, slots in
      let count = header.pointee.lineCount
      return UnsafeBufferPointer(start: slots + (header.pointee.slots - count), count: count)
    }
  }

  /// The line at an index, which must exist.
  @inlinable subscript(index: Int) -> FieldSection.Line {
    get { withUnsafeMutablePointers { $1[$0.pointee.slots - 1 - index] } }
    set { withUnsafeMutablePointers { $1[$0.pointee.slots - 1 - index] = newValue } }
  }

  @inlinable func first(_ field: KnownField) -> FieldSection.Line? {
    withUnsafeMutablePointers { header, slots in
      guard header.pointee.present & field.bit != 0 else { return nil }
      // The field is present, so the loop ends.
      var line = slots + (header.pointee.slots &- 1)
      while line.pointee.field.rawValue != field.rawValue { line -= 1 }
      return line.pointee
    }
  }

  // MARK: Writing

  /// Appends a line. There must be room for it.
  /// - Parameter field: `nil` if the name has been neither classified nor changed to lower case.
  /// - Returns: the field.
  @discardableResult
  func append(
    _ field: KnownField?, name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, isSensitive: Bool
  ) -> KnownField {
    withUnsafeMutablePointers { header, slots in
      let start = header.pointee.byteCount
      let end = start + name.count + value.count
      let place = UnsafeMutableRawPointer(slots) + start
      if let bytes = value.baseAddress { (place + name.count).copyMemory(from: bytes, byteCount: value.count) }
      if field == nil {
        place.copyLowercased(name)
      } else if let bytes = name.baseAddress {
        place.copyMemory(from: bytes, byteCount: name.count)
      }
      let field = field ?? KnownField(lowercased: UnsafeRawBufferPointer(start: place, count: name.count))
      slots[header.pointee.slots - 1 - header.pointee.lineCount] = FieldSection.Line(
        field: field, isSensitive: isSensitive, start: UInt32(start), nameCount: UInt32(name.count),
        valueCount: UInt32(value.count))
      header.pointee.byteCount = end
      header.pointee.lineCount += 1
      header.pointee.present |= field.bit
      return field
    }
  }

  /// Removes lines. Their bytes stay, except at the end.
  func removeAll(where shouldRemove: (FieldSection.Line) -> Bool) {
    var (kept, present, end) = (0, UInt64(0), 0)
    for index in 0..<header.lineCount {
      let line = self[index]
      if shouldRemove(line) { continue }
      self[kept] = line
      kept += 1
      present |= line.field.bit
      end = max(end, line.valueRange.upperBound)
    }
    header.lineCount = kept
    header.present = present
    header.byteCount = end
  }

  func removeLast() {
    header.lineCount -= 1
    header.byteCount = Int(self[header.lineCount].start)
    header.present = 0
    for index in 0..<header.lineCount { header.present |= self[index].field.bit }
  }

  private func mutableBytes(from start: Int, count: Int) -> UnsafeMutableRawBufferPointer {
    withUnsafeMutablePointerToElements {
      UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer($0) + start, count: count)
    }
  }
}

extension KnownField {
  @inlinable var bit: UInt64 { 1 << UInt64(rawValue) }
}
