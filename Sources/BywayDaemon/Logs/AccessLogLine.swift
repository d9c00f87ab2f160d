import Byway
import BywayHTTPWire
import BywayInterceptors
import BywayPrimitives
import NIOCore

/// A formatter for the lines of an access log, as bytes: a busy gateway writes a hundred thousand per second. It replaces the
/// secrets that ``Redactor`` knows.
struct AccessLogLine {
  private let format: AccessLogFormat
  /// Nanoseconds from the beginning of 1970 to the start of the monotonic clock that records use.
  private var offset: Int64 = 0
  /// The second of the previous line, which most lines share with others, in nanoseconds since the beginning of 1970.
  private var second: Range<Int64> = 0..<0
  /// The part of a line that is the same within that second: its beginning, or what follows the user.
  private var stamp: [UInt8] = []

  init(_ format: AccessLogFormat) {
    self.format = format
  }

  /// Adapts to the system's clock, which may have been set.
  mutating func synchronize() {
    offset = WallTime.now().nanosecondsSinceEpoch - Int64(clamping: NIODeadline.now().uptimeNanoseconds)
  }

  mutating func append(_ exchange: ExchangeRecord.State, to line: inout LineBuffer) {
    let time = min(max(0, offset + Int64(clamping: exchange.values.begun.uptimeNanoseconds)), Self.latest)
    if !second.contains(time) { begin(second: time / Self.nanoseconds) }
    if format == .combined { exchange.appendUser(to: &line) }
    stamp.withUnsafeBytes { line.append($0) }
    switch format {
    case .combined: exchange.appendCombined(to: &line)
    case .json:
      line.append(decimal: Int((time - second.lowerBound) / 1_000_000), digits: 3)
      exchange.appendJSON(to: &line)
    }
    line.append(UInt8(ascii: "\n"))
  }

  private static let nanoseconds: Int64 = 1_000_000_000
  /// The latest time whose second can still be represented.
  private static let latest = Int64.max - nanoseconds

  private mutating func begin(second: Int64) {
    self.second = second * Self.nanoseconds..<(second + 1) * Self.nanoseconds
    let time = CalendarTime(secondsSinceEpoch: Int(second))
    switch format {
    case .combined: stamp = Array(" [\(time.logDate)] \"".utf8)
    case .json: stamp = Array("{\"time\":\"\(time.dateAndTime).".utf8)
    }
  }
}

extension CalendarTime {
  /// `22/Nov/2026:23:05:00 +0000`
  fileprivate var logDate: String {
    "\(String(day, digits: 2))/\(monthName)/\(String(year, digits: 4)):\(timeOfDay) +0000"
  }
}

extension ExchangeRecord.State {
  /// Appends `192.0.2.7 - alice`, before ` [22/Nov/2026:23:05:00 +0000] `. Blanks separate columns, so a name is written without
  /// them.
  fileprivate func appendUser(to line: inout LineBuffer) {
    if let address = values.arrival.peer?.address {
      address.utf8Span.span.bytes.withUnsafeBytes { line.append($0) }
    } else {
      line.append("-")
    }
    line.append(" - ")
    guard let user = values.user else { return line.append("-") }
    user.utf8Span.span.bytes.withUnsafeBytes { line.append(escaping: $0, blanks: true) }
  }

  /// Appends `"GET /path HTTP/1.1" 200 87 "referer" "user agent" "id"`.
  fileprivate func appendCombined(to line: inout LineBuffer) {
    let head = values.head
    head.withUnsafeBytes { bytes in
      func value(of field: KnownField) -> UnsafeRawBufferPointer? {
        head.first(field).map { UnsafeRawBufferPointer(rebasing: bytes[$0.valueRange]) }
      }
      if head.isEmpty {
        line.append("-")
      } else {
        if let method = value(of: .method) { line.append(escaping: method) }
        line.append(" ")
        if let path = value(of: .path) {
          line.append(url: path)
        } else if let authority = value(of: .authority) {
          line.append(escaping: authority.withoutUser)
        } else {
          line.append("-")
        }
        switch values.version {
        case .http1_0: line.append(" HTTP/1.0")
        case .http1_1: line.append(" HTTP/1.1")
        case .http2: line.append(" HTTP/2.0")
        }
      }
      line.append("\" ")
      if let status = values.status { line.append(decimal: status) } else { line.append("-") }
      line.append(" ")
      if values.responseBytes > 0 { line.append(decimal: values.responseBytes) } else { line.append("-") }
      line.append(" \"")
      if let referer = value(of: .referer) { line.append(url: referer) } else { line.append("-") }
      line.append("\" \"")
      if let agent = value(of: .userAgent) { line.append(text: agent) } else { line.append("-") }
      line.append("\" \"")
    }
    if let trace = values.trace { line.append(trace) } else { line.append("-") }
    line.append("\"")
  }

  /// Appends the object after the milliseconds of its first member.
  fileprivate func appendJSON(to line: inout LineBuffer) {
    let head = values.head
    line.append("Z\"")
    if let trace = values.trace {
      line.append(",\"trace\":\"")
      line.append(trace)
      line.append("\"")
    }
    line.append(",\"listener\":", values.arrival.listener)
    if let peer = values.arrival.peer {
      // The name and the values are those of the audit log.
      line.append(",\"peer\":", peer.address ?? "unix")
      if let userID = peer.userID { line.append(",\"uid\":", Int(userID)) }
      if let processID = peer.processID { line.append(",\"pid\":", Int(processID)) }
    }
    if let user = values.user { line.append(",\"user\":", user) }
    line.append(",\"version\":", values.version.rawValue)
    head.withValue(of: .method) { line.append(",\"method\":", $0) }
    head.withValue(of: .scheme) { line.append(",\"scheme\":", $0) }
    head.withPlace { line.append(",\"authority\":", $0) }
    head.withURL(of: .path) { line.append(",\"path\":", $0) }
    head.withURL(of: .referer) { line.append(",\"referer\":", $0) }
    head.withText(of: .userAgent) { line.append(",\"userAgent\":", $0) }
    if let status = values.status { line.append(",\"status\":", status) }
    if let failure = values.failure {
      line.append(",\"failure\":", "\(failure.code)")
      line.append(",\"failedBy\":", failure.party.rawValue)
    }
    if let upstream = values.upstream { line.append(",\"upstream\":", upstream) }
    line.append(",\"attempts\":", values.attempts)
    line.append(",\"requestBytes\":", values.requestBytes)
    line.append(",\"responseBytes\":", values.responseBytes)
    appendPhases(to: &line)
    appendNotes(to: &line)
    line.append("}")
  }

  private func appendNotes(to line: inout LineBuffer) {
    for (index, note) in values.notes.enumerated() {
      line.append(index == 0 ? ",\"notes\":[" : ",")
      line.append("{\"plugin\":", note.plugin)
      line.append(",\"text\":", note.text)
      line.append("}")
    }
    if !values.notes.isEmpty { line.append("]") }
  }

  /// Appends how long the exchange waited for a link or a connection, sent the request, waited for the response, and received it,
  /// as far as it has come. The last one is the total.
  private func appendPhases(to line: inout LineBuffer) {
    let (begun, answered) = (values.begun, values.answered)
    if let sent = values.sent {
      let asked = max(sent, min(values.requestEnded ?? sent, answered ?? .distantFuture))
      line.append(",\"wait\":", sent - begun)
      line.append(",\"send\":", asked - sent)
      if let answered { line.append(",\"origin\":", answered - asked) }
    }
    guard let ended = values.ended else { return }
    if let answered { line.append(",\"receive\":", ended - answered) }
    line.append(",\"duration\":", ended - begun)
  }
}

extension FieldSection {
  /// Calls a function with a field that is a URL, with its secrets replaced.
  @discardableResult
  fileprivate func withURL(of field: KnownField, _ body: (UnsafeRawBufferPointer) -> Void) -> Void? {
    withValue(of: field) { Self.with($0, changed: Redactor.defaults.changedURL($0), body) }
  }

  /// Calls a function with a field of text that may contain URLs, with their secrets replaced.
  @discardableResult
  fileprivate func withText(of field: KnownField, _ body: (UnsafeRawBufferPointer) -> Void) -> Void? {
    withValue(of: field) { Self.with($0, changed: Redactor.defaults.changedText($0), body) }
  }

  private static func with(
    _ bytes: UnsafeRawBufferPointer, changed: String?, _ body: (UnsafeRawBufferPointer) -> Void
  ) {
    guard let changed else { return body(bytes) }
    changed.utf8Span.span.bytes.withUnsafeBytes { body($0) }
  }

  /// Calls a function with the requested host, without user information.
  @discardableResult
  fileprivate func withPlace(_ body: (UnsafeRawBufferPointer) -> Void) -> Void? {
    withValue(of: .authority) { body($0.withoutUser) }
  }
}

extension UnsafeRawBufferPointer {
  /// The host and port of an authority.
  fileprivate var withoutUser: UnsafeRawBufferPointer {
    guard let end = lastIndex(of: UInt8(ascii: "@")) else { return self }
    return UnsafeRawBufferPointer(rebasing: self[(end + 1)...])
  }
}

extension LineBuffer {
  /// Appends a URL with its secrets replaced.
  fileprivate mutating func append(url: UnsafeRawBufferPointer) {
    append(escaping: url, changed: Redactor.defaults.changedURL(url))
  }

  /// Appends text that may contain URLs, with their secrets replaced.
  fileprivate mutating func append(text: UnsafeRawBufferPointer) {
    append(escaping: text, changed: Redactor.defaults.changedText(text))
  }

  private mutating func append(escaping value: UnsafeRawBufferPointer, changed: String?) {
    guard let changed else { return append(escaping: value) }
    changed.utf8Span.span.bytes.withUnsafeBytes { append(escaping: $0) }
  }
}
