import BywayHTTPWire
import NIOCore

/// Writes the lines of a head or of trailers into memory that was reserved for all of them. Bytes that do not fit are only counted, so
/// that the caller can reserve enough.
struct HeadWriter {
  private let memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  init(_ memory: UnsafeMutableRawBufferPointer) {
    self.memory = memory
  }

  var fits: Bool { count <= memory.count }

  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    append(start, bytes.count)
  }

  @inline(__always)
  mutating func append(_ text: StaticString) {
    append(UnsafeRawPointer(text.utf8Start), text.utf8CodeUnitCount)
  }

  mutating func append(text: String) {
    text.utf8Span.span.bytes.withUnsafeBytes { append($0) }
  }

  @inline(__always)
  private mutating func append(_ start: UnsafeRawPointer, _ length: Int) {
    if length <= memory.count - count, let end = memory.baseAddress.map({ $0 + count }) {
      end.copyMemory(from: start, byteCount: length)
    }
    count += length
  }

  // MARK: Parts of a head

  /// Writes a field line. This is the only place that does, so it ensures that a caller's bytes cannot end a line early.
  mutating func writeField(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(HTTP1Failure) {
    let value = FieldGrammar.trim(value)
    guard FieldGrammar.isToken(name), FieldGrammar.isFieldText(value) else {
      throw .unencodable(
        "The field \"\(String(decoding: name.prefix(64), as: UTF8.self))\" contains a character that no field may have."
      )
    }
    append(name)
    append(": ")
    append(value)
    append("\r\n")
  }

  /// Writes the fields that may be forwarded. Omits control data and the fields that the connection writes itself or that end
  /// at this hop: `content-length`, `host`, and all connection-specific fields (RFC 9110 §7.6.1).
  /// - Parameter keepingProxyFields: whether the next hop is a proxy, or this hop answers as one.
  mutating func writeForwardedFields(of section: FieldSection, keepingProxyFields: Bool) throws(HTTP1Failure) {
    var options = ConnectionOptions()
    var cookies = 0
    if section.contains(.connection) {
      section.forEachLine { line, _, value in
        if line.field == .connection { options.note(value) }
      }
    }
    try section.forEachLine { line, name, value throws(HTTP1Failure) in
      switch line.field {
      case .contentLength, .host: return
      case .proxyAuthorization, .proxyAuthenticate: if !keepingProxyFields { return }
      case .cookie:
        cookies += 1
        return
      case let field: if field.isPseudo || field.isHopByHop { return }
      }
      if options.count == 0 || !options.contains(name) { try writeField(name, value) }
    }
    if cookies > 0 { try writeCookie(of: section) }
  }

  /// Joins a cookie into one line. HTTP/2 splits it for compression (RFC 9113 §8.2.3).
  private mutating func writeCookie(of section: FieldSection) throws(HTTP1Failure) {
    var crumbs: [UInt8] = []
    for line in section.lines where line.field == .cookie {
      section.withBytes(of: line) { _, value in
        if !crumbs.isEmpty { crumbs += "; ".utf8 }
        crumbs += value
      }
    }
    var joined = FieldSection(lineCapacity: 1)
    crumbs.withUnsafeBytes { joined.append(.cookie, $0) }
    for line in joined.lines {
      try joined.withBytes(of: line) { name, value throws(HTTP1Failure) in try writeField(name, value) }
    }
  }

  /// Writes a request target, method or other part of a start line that has been validated.
  mutating func writeValue(of field: KnownField, in section: FieldSection) {
    section.withValue(of: field) { append($0) }
  }

  mutating func writeContentLength(_ length: Int) {
    append("Content-Length: ")
    append(text: String(length))
    append("\r\n")
  }
}

extension FieldSection {
  /// The number of bytes that a head or trailers of these fields probably have.
  var expectedHeadSize: Int { byteCount + 128 }
}

extension ByteBuffer {
  /// Runs a closure that writes lines. If it throws, nothing is written: an incomplete head must never be sent.
  /// - Parameter expected: the number of bytes that are probably enough. The closure runs again if they are not.
  mutating func writeLines(
    expected: Int, _ body: (inout HeadWriter) throws(HTTP1Failure) -> Void
  ) throws(HTTP1Failure) {
    var reserved: Int? = expected
    while let minimum = reserved {
      reserved = nil
      _ = try writeWithUnsafeMutableBytes(minimumWritableBytes: minimum) { memory throws(HTTP1Failure) in
        var writer = HeadWriter(memory)
        try body(&writer)
        if writer.fits { return writer.count }
        reserved = writer.count
        return 0
      }
    }
  }
}
