import BywayHTTPWire

/// `traceparent` (W3C Trace Context, §3.2), the id of one exchange at every hop.
enum TraceContext {
  /// `00-<32 digits>-<16 digits>-<2 digits>`
  private static let length = 55

  /// Keeps a valid id unchanged, because this hop has no spans of its own. A request without a valid one gets a new one, and the fields of
  /// the old one are removed (§2.3).
  static func settle(_ fields: inout FieldSection, _ source: TraceSource) -> TraceID {
    if fields.contains(.traceparent) {
      if let trace = read(of: fields) { return trace }
      fields.remove(.traceparent)
    }
    if fields.contains(.tracestate) { fields.remove(.tracestate) }
    let (trace, parent) = source.next()
    withUnsafeTemporaryAllocation(byteCount: length, alignment: 8) { text in
      write(trace, parent: parent, to: text)
      fields.append(.traceparent, UnsafeRawBufferPointer(text))
    }
    return trace
  }

  /// - Returns: `nil` if there is no valid one.
  static func read(of fields: FieldSection) -> TraceID? {
    // Several count as none: each hop could choose another one (§3.2).
    isRepeated(in: fields) ? nil : fields.withValue(of: .traceparent, read) ?? nil
  }

  private static func isRepeated(in fields: FieldSection) -> Bool {
    guard fields.contains(.traceparent) else { return false }
    return fields.lines.count { $0.field == .traceparent } > 1
  }

  /// - Returns: `nil` if it is invalid (§3.2.2).
  static func read(_ text: UnsafeRawBufferPointer) -> TraceID? {
    guard text.count >= length, text[2] == dash, text[35] == dash, text[52] == dash,
      let version = number(text[0..<2]), version != 0xFF,
      version == 0 ? text.count == length : text.count == length || text[length] == dash,
      let high = number(text[3..<19]), let low = number(text[19..<35]), high | low != 0,
      let parent = number(text[36..<52]), parent != 0, number(text[53..<55]) != nil
    else { return nil }
    return TraceID(high: high, low: low)
  }

  private static let dash = UInt8(ascii: "-")

  /// Only lower case, as required.
  private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
    var value: UInt64 = 0
    for digit in digits {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(digit - 0x30)
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(digit - 0x57)
      default: return nil
      }
    }
    return value
  }

  /// Sets the flag for recorded exchanges, because this hop records it (§3.2.2.5).
  private static func write(_ trace: TraceID, parent: UInt64, to text: UnsafeMutableRawBufferPointer) {
    text.copyBytes(from: "00-".utf8)
    trace.write(to: UnsafeMutableRawBufferPointer(rebasing: text[3..<35]))
    text[35] = dash
    TraceID.write(parent, to: text, at: 36)
    text[52] = dash
    (text[53], text[54]) = (0x30, 0x31)
  }
}
