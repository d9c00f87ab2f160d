internal import CNGHTTP2
internal import HTTPWire

extension HTTP2Session {
  /// Lends a section to nghttp2, which copies it: pseudo-header fields first, as RFC 9113 §8.3 wants them.
  func withFields(_ section: FieldSection, _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Int32) -> Int32 {
    section.withUnsafeLines { lines, bytes in
      guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return body(nil, 0) }
      let start = UnsafeMutablePointer(mutating: base)
      return withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: lines.count) { fields in
        var count = 0
        for isPseudo in [true, false] {
          for line in lines where line.field.isPseudo == isPseudo {
            fields.initializeElement(at: count, to: field(line, start))
            count += 1
          }
        }
        return body(fields.baseAddress, count)
      }
    }
  }

  private func field(_ line: FieldSection.Line, _ start: UnsafeMutablePointer<UInt8>) -> nghttp2_nv {
    let flags = line.isSensitive ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE
    return nghttp2_nv(
      name: start + line.nameRange.lowerBound, value: start + line.valueRange.lowerBound,
      namelen: line.nameRange.count, valuelen: line.valueRange.count, flags: UInt8(flags.rawValue))
  }
}
