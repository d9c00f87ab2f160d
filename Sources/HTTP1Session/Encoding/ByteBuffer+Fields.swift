import HTTPWire
import NIOCore

/// Writes field lines. This is the only place that does, so it ensures that a caller's bytes cannot end a line early.
extension ByteBuffer {
  mutating func writeField(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(HTTP1Failure) {
    let value = FieldGrammar.trim(value)
    guard FieldGrammar.isToken(name), FieldGrammar.isFieldText(value) else {
      throw .unencodable(
        "The field \"\(String(decoding: name.prefix(64), as: UTF8.self))\" contains a character that no field may have."
      )
    }
    writeWithUnsafeMutableBytes(minimumWritableBytes: name.count + value.count + 4) { output in
      output.copyMemory(from: name)
      output[name.count] = UInt8(ascii: ":")
      output[name.count + 1] = UInt8(ascii: " ")
      UnsafeMutableRawBufferPointer(rebasing: output[(name.count + 2)...]).copyMemory(from: value)
      output[name.count + 2 + value.count] = UInt8(ascii: "\r")
      output[name.count + 3 + value.count] = UInt8(ascii: "\n")
      return name.count + value.count + 4
    }
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
    writeString(String(length))
    append("\r\n")
  }

  /// Runs a closure that writes, and removes its output if it throws: an incomplete head must never be sent.
  mutating func writeWhole<Result>(
    _ body: (inout ByteBuffer) throws(HTTP1Failure) -> Result
  ) throws(HTTP1Failure) -> Result {
    let start = writerIndex
    do throws(HTTP1Failure) {
      return try body(&self)
    } catch {
      moveWriterIndex(to: start)
      throw error
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
