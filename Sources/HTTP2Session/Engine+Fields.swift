import CNGHTTP2
import HTTPWire

extension HTTP2Session {
  /// Lends a section to nghttp2: pseudo-header fields first, as RFC 9113 §8.3 wants them.
  /// - Parameter isKept: until the frame is sent or given up; else nghttp2 makes a copy.
  func withFields(
    _ section: FieldSection, isKept: Bool = false, _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Int32
  ) -> Int32 {
    let flags = isKept ? NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue : 0
    let lines = section.lines
    return section.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return body(nil, 0) }
      let start = UnsafeMutablePointer(mutating: base)
      return withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: lines.count) { fields in
        var pseudo = 0
        var regular = lines.count(where: \.field.isPseudo)
        for line in lines {
          if line.field.isPseudo {
            fields.initializeElement(at: pseudo, to: Self.field(line, start, flags))
            pseudo += 1
          } else {
            fields.initializeElement(at: regular, to: Self.field(line, start, flags))
            regular += 1
          }
        }
        return body(fields.baseAddress, regular)
      }
    }
  }

  private static func field(
    _ line: FieldSection.Line, _ start: UnsafeMutablePointer<UInt8>, _ flags: UInt32
  ) -> nghttp2_nv {
    let flags = line.isSensitive ? flags | NGHTTP2_NV_FLAG_NO_INDEX.rawValue : flags
    return nghttp2_nv(
      name: start + line.nameRange.lowerBound, value: start + line.valueRange.lowerBound,
      namelen: line.nameRange.count, valuelen: line.valueRange.count, flags: UInt8(truncatingIfNeeded: flags))
  }
}
