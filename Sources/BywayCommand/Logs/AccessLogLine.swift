import Byway
import BywayInterceptors
import HTTPWire
import NIOCore
import Primitives

/// Makes the lines of an access log, as bytes: a busy gateway has a hundred thousand of them in a second. Secrets do not get into
/// them: what ``Redactor`` knows is replaced.
struct AccessLogLine {
  /// What the clock says is made of these two: a record has the time that passes, which nobody sets.
  private var monotonic = NIODeadline.now()
  private var sinceEpoch = Duration.sinceEpoch
  /// Of the second that was written last: most lines share theirs with others.
  private var second = Int.min
  private var stamp: [UInt8] = []

  /// Now is that moment of the system's clock.
  mutating func synchronize(monotonic: NIODeadline, sinceEpoch: Duration) {
    self.monotonic = monotonic
    self.sinceEpoch = sinceEpoch
  }

  mutating func append(_ record: ExchangeRecord, _ format: AccessLogFormat, to line: inout [UInt8]) {
    let time = sinceEpoch - .nanoseconds((monotonic - record.begun).nanoseconds)
    let seconds = Int(time.components.seconds)
    if seconds != second {
      second = seconds
      let time = CalendarTime(secondsSinceEpoch: seconds)
      stamp = format == .json ? CommonLog.jsonStamp(time) : CommonLog.stamp(time)
    }
    switch format {
    case .combined:
      line += stamp
      record.appendCombined(to: &line)
    case .json:
      line += stamp
      line.append(decimal: Int(time.components.attoseconds / 1_000_000_000_000_000), digits: 3)
      record.appendJSON(to: &line)
    }
    line.append(UInt8(ascii: "\n"))
  }
}

/// What lines begin with, up to the second.
private enum CommonLog {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  static func stamp(_ time: CalendarTime) -> [UInt8] {
    let date = "\(String(time.day, digits: 2))/\(months[time.month - 1])/\(String(time.year, digits: 4))"
    return Array("- - - [\(date):\(time.timeOfDay) +0000] \"".utf8)
  }

  static func jsonStamp(_ time: CalendarTime) -> [UInt8] {
    Array("{\"time\":\"\(time.date)T\(time.timeOfDay).".utf8)
  }
}

extension ExchangeRecord {
  /// `"GET /path HTTP/1.1" 200 87 "referer" "user agent" "id"`, and before it `- - - [22/Nov/2026:23:05:00 +0000]`: a client at the other
  /// end of a link has no address.
  fileprivate func appendCombined(to line: inout [UInt8]) {
    if head.isEmpty {
      line.append("-")
    } else {
      head.withValue(of: .method) { line.append(escaping: $0) }
      line.append(" ")
      appendTarget(to: &line) { $1.append(escaping: $0) }
      switch version {
      case .http1_0: line.append(" HTTP/1.0")
      case .http1_1: line.append(" HTTP/1.1")
      case .http2: line.append(" HTTP/2.0")
      }
    }
    line.append("\" ")
    if let status { line.append(decimal: status) } else { line.append("-") }
    line.append(" ")
    if responseBytes > 0 { line.append(decimal: responseBytes) } else { line.append("-") }
    line.append(" \"")
    if head.withURL(of: .referer, { line.append(escaping: $0) }) == nil { line.append("-") }
    line.append("\" \"")
    if head.withValue(of: .userAgent, { line.append(escaping: $0) }) == nil { line.append("-") }
    line.append("\" \"")
    if let trace { trace.append(to: &line) } else { line.append("-") }
    line.append("\"")
  }

  /// The path, or what a tunnel leads to.
  private func appendTarget(
    to line: inout [UInt8], _ append: (UnsafeRawBufferPointer, inout [UInt8]) -> Void
  ) {
    if head.withURL(of: .path, { append($0, &line) }) == nil,
      head.withPlace({ append($0, &line) }) == nil
    {
      line.append("-")
    }
  }

  /// From behind the milliseconds of its first member on.
  fileprivate func appendJSON(to line: inout [UInt8]) {
    line.append("Z\"")
    if let trace {
      line.append(",\"trace\":\"")
      trace.append(to: &line)
      line.append("\"")
    }
    line.append(",\"listener\":")
    JSON.write(listener, to: &line)
    line.append(",\"version\":\"")
    line += version.rawValue.utf8
    line.append("\"")
    head.withValue(of: .method) { line.append(",\"method\":", $0) }
    head.withValue(of: .scheme) { line.append(",\"scheme\":", $0) }
    head.withPlace { line.append(",\"authority\":", $0) }
    head.withURL(of: .path) { line.append(",\"path\":", $0) }
    head.withURL(of: .referer) { line.append(",\"referer\":", $0) }
    head.withValue(of: .userAgent) { line.append(",\"userAgent\":", $0) }
    if let status { line.append(",\"status\":", status) }
    if let failure {
      line.append(",\"failure\":\"")
      line += "\(failure.code)\",\"failedBy\":\"\(failure.party.rawValue)\"".utf8
    }
    if let upstream {
      line.append(",\"upstream\":")
      JSON.write(upstream, to: &line)
    }
    line.append(",\"attempts\":", attempts)
    line.append(",\"requestBytes\":", requestBytes)
    line.append(",\"responseBytes\":", responseBytes)
    appendPhases(to: &line)
    line.append("}")
  }

  /// How long it waited for a link or a connection, was being sent, waited for the answer, and received that; those that it has
  /// reached. The last one is all of it.
  private func appendPhases(to line: inout [UInt8]) {
    if let sent {
      let asked = max(sent, min(requestEnded ?? sent, answered ?? .distantFuture))
      line.append(",\"wait\":", sent - begun)
      line.append(",\"send\":", asked - sent)
      if let answered { line.append(",\"origin\":", answered - asked) }
    }
    guard let ended else { return }
    if let answered { line.append(",\"receive\":", ended - answered) }
    line.append(",\"duration\":", ended - begun)
  }
}

extension FieldSection {
  /// A field that is a URL, secrets replaced. Most have nothing in them that could hide one.
  @discardableResult
  fileprivate func withURL(of field: KnownField, _ body: (UnsafeRawBufferPointer) -> Void) -> Void? {
    withValue(of: field) { bytes in
      guard bytes.contains(where: { $0 == 0x3F || $0 == 0x23 || $0 == 0x40 || $0 == 0x3B }) else { return body(bytes) }
      var url = Redactor.defaults.redactedURL(String(decoding: bytes, as: UTF8.self))
      url.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
  }

  /// The host that is asked for, without a user.
  @discardableResult
  fileprivate func withPlace(_ body: (UnsafeRawBufferPointer) -> Void) -> Void? {
    withValue(of: .authority) { bytes in
      let start = bytes.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? 0
      body(UnsafeRawBufferPointer(rebasing: bytes[start...]))
    }
  }
}
