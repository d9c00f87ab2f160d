import BywayHTTPWire
import NIOCore

extension ByteBuffer {
  /// Changes field names to their usual spelling. The first line is not a field line: it is the request line or the last chunk.
  mutating func capitalizeFieldNames(from start: Int) {
    let offset = start - readerIndex
    withUnsafeMutableReadableBytes { bytes in
      let text = UnsafeRawBufferPointer(bytes)
      var index = offset
      while let lineEnd = text.firstOffset(of: UInt8(ascii: "\n"), from: index),
        let colon = text.firstOffset(of: UInt8(ascii: ":"), from: lineEnd + 1)
      {
        FieldCapitalization.apply(to: UnsafeMutableRawBufferPointer(rebasing: bytes[(lineEnd + 1)..<colon]))
        index = colon
      }
    }
  }
}

extension FieldSection {
  /// The length that the fields declare for the content.
  func declaredLength() throws(HTTP1Failure) -> Int? {
    guard contains(.contentLength) else { return nil }
    var facts = MessageFacts()
    do throws(HTTP1Failure) {
      for line in lines where line.field == .contentLength {
        try withBytes(of: line) { _, value throws(HTTP1Failure) in _ = try facts.noteContentLength(value) }
      }
    } catch {
      throw .unencodable(error.message)
    }
    return facts.contentLength
  }
}
