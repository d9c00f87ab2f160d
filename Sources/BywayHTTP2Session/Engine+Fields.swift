import BywayHTTPWire
import CBywayNGHTTP2

extension HTTP2Session {
  /// Passes a section to nghttp2, with pseudo-header fields first (RFC 9113 §8.3).
  /// - Parameter isKept: whether the section stays alive until the frame is sent or dropped; if not, nghttp2 makes a copy.
  func withFields(
    _ section: FieldSection, isKept: Bool = false, _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Int32
  ) -> Int32 {
    let flags = isKept ? NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue : 0
    return withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: section.lines.count) { fields in
      var pseudo = 0
      var regular = 0
      section.forEachLine { line, _, _ in
        if line.field.isPseudo { regular += 1 }
      }
      section.forEachLine { line, name, value in
        if line.field.isPseudo {
          fields.initializeElement(at: pseudo, to: Self.field(line, name, value, flags))
          pseudo += 1
        } else {
          fields.initializeElement(at: regular, to: Self.field(line, name, value, flags))
          regular += 1
        }
      }
      return body(fields.baseAddress, regular)
    }
  }

  private static func field(
    _ line: FieldSection.Line, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ flags: UInt32
  ) -> nghttp2_nv {
    // An id that differs each time would evict reusable entries from the table.
    let flags = line.isSensitive || line.field == .traceparent ? flags | NGHTTP2_NV_FLAG_NO_INDEX.rawValue : flags
    return nghttp2_nv(
      name: UnsafeMutablePointer(mutating: name.baseAddress?.assumingMemoryBound(to: UInt8.self)),
      value: UnsafeMutablePointer(mutating: value.baseAddress?.assumingMemoryBound(to: UInt8.self)),
      namelen: name.count, valuelen: value.count, flags: UInt8(truncatingIfNeeded: flags))
  }
}
