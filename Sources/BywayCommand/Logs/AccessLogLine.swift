import Byway
import BywayInterceptors
import HTTPWire
import NIOCore
import Primitives

/// One line of an access log. Secrets do not get into it: what ``Redactor`` knows is replaced.
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

  mutating func append(_ record: ExchangeRecord, _ format: AccessLogFormat, to bytes: inout [UInt8]) {
    let time = sinceEpoch - .nanoseconds((monotonic - record.begun).nanoseconds)
    switch format {
    case .combined: appendCombined(record, Int(time.components.seconds), to: &bytes)
    case .json: appendJSON(record, time, to: &bytes)
    }
    bytes.append(UInt8(ascii: "\n"))
  }

  // MARK: Combined

  /// `- - - [22/Nov/2026:23:05:00 +0000] "GET /path HTTP/1.1" 200 87 "referer" "user agent" "id"`: a client at the other end of a link has
  /// no address.
  private mutating func appendCombined(_ record: ExchangeRecord, _ seconds: Int, to bytes: inout [UInt8]) {
    if seconds != second { makeStamp(seconds) }
    bytes += stamp
    let head = record.head
    if head.isEmpty {
      bytes += "-".utf8
    } else {
      Self.append(head, .method, to: &bytes)
      bytes.append(UInt8(ascii: " "))
      Self.appendTarget(head, to: &bytes)
      bytes +=
        record.version == .http2 ? " HTTP/2.0".utf8 : record.version == .http1_1 ? " HTTP/1.1".utf8 : " HTTP/1.0".utf8
    }
    bytes += "\" \(record.status.map { "\($0)" } ?? "-") ".utf8
    bytes += record.responseBytes > 0 ? "\(record.responseBytes)".utf8 : "-".utf8
    bytes += " \"".utf8
    if let referer = head.value(of: .referer) {
      Self.append(Redactor.defaults.redactedURL(referer).utf8, to: &bytes)
    } else {
      bytes += "-".utf8
    }
    bytes += "\" \"".utf8
    Self.append(head, .userAgent, to: &bytes)
    bytes += "\" \"\(record.trace.map { "\($0)" } ?? "-")\"".utf8
  }

  private mutating func makeStamp(_ seconds: Int) {
    let time = CalendarTime(secondsSinceEpoch: seconds)
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let date = "\(String(time.day, digits: 2))/\(months[time.month - 1])/\(String(time.year, digits: 4))"
    stamp = Array("- - - [\(date):\(time.timeOfDay) +0000] \"".utf8)
    second = seconds
  }

  private static func appendTarget(_ head: FieldSection, to bytes: inout [UInt8]) {
    guard head.contains(.path) else {
      let place = head.value(of: .authority).map { Authority.splitUser($0[...]).rest }
      return append((place ?? "-").utf8, to: &bytes)
    }
    // Most have nothing in them that could hide a secret.
    let mayHide = head.withValue(of: .path) { $0.contains { "?#@;".utf8.contains($0) } } ?? false
    if mayHide, let path = head.value(of: .path) {
      append(Redactor.defaults.redactedURL(path).utf8, to: &bytes)
    } else {
      append(head, .path, to: &bytes)
    }
  }

  /// A field's value, or `-`.
  private static func append(_ head: FieldSection, _ field: KnownField, to bytes: inout [UInt8]) {
    if head.withValue(of: field, { append($0, to: &bytes) }) == nil { bytes += "-".utf8 }
  }

  /// As Apache escapes what comes from outside.
  private static func append(_ value: some Collection<UInt8>, to bytes: inout [UInt8]) {
    for byte in value {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case 0x20..<0x7F: bytes.append(byte)
      default: bytes += "\\x\(Hex.text(CollectionOfOne(byte)))".utf8
      }
    }
  }

  // MARK: JSON

  private func appendJSON(_ record: ExchangeRecord, _ time: Duration, to bytes: inout [UInt8]) {
    var object = JSONObject(to: bytes)
    bytes = []
    object.add("time", time.timestamp)
    object.add("trace", record.trace.map { "\($0)" })
    object.add("listener", record.listener)
    object.add("version", record.version.rawValue)
    object.add("method", record.method)
    object.add("scheme", record.scheme)
    object.add("authority", record.authority.map { String(Authority.splitUser($0[...]).rest) })
    object.add("path", record.path.map(Redactor.defaults.redactedURL))
    object.add("referer", record.head.value(of: .referer).map(Redactor.defaults.redactedURL))
    object.add("userAgent", record.head.value(of: .userAgent))
    object.add("status", record.status)
    object.add("failure", record.failure.map { "\($0.code)" })
    object.add("failedBy", record.failure.map { $0.party.rawValue })
    object.add("upstream", record.upstream)
    object.add("attempts", record.attempts)
    object.add("requestBytes", record.requestBytes)
    object.add("responseBytes", record.responseBytes)
    for (name, phase) in record.phases { object.add(name, microseconds: phase) }
    bytes = object.end()
  }
}

extension ExchangeRecord {
  /// How long it waited for a link or a connection, was being sent, waited for the answer, and received that; those that it has
  /// reached. The last one is all of it.
  fileprivate var phases: [(name: String, time: TimeAmount?)] {
    let asked = sent.map { sent in max(sent, min(requestEnded ?? sent, answered ?? .distantFuture)) }
    return [
      ("wait", sent.map { $0 - begun }),
      ("send", sent.flatMap { sent in asked.map { $0 - sent } }),
      ("origin", asked.flatMap { asked in answered.map { max(.zero, $0 - asked) } }),
      ("receive", answered.flatMap { answered in ended.map { $0 - answered } }),
      ("duration", ended.map { $0 - begun }),
    ]
  }
}

/// Members of a JSON object as bytes, without a value for each in between.
private struct JSONObject {
  private var bytes: [UInt8]
  private var isFirst = true

  init(to bytes: consuming [UInt8]) {
    self.bytes = bytes
    self.bytes.append(UInt8(ascii: "{"))
  }

  mutating func add(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    begin(name)
    JSON.write(value, to: &bytes)
  }

  mutating func add(_ name: StaticString, _ value: Int?) {
    guard let value else { return }
    begin(name)
    bytes += "\(value)".utf8
  }

  /// In seconds.
  mutating func add(_ name: String, microseconds time: TimeAmount?) {
    guard let time else { return }
    let microseconds = max(0, time.nanoseconds) / 1000
    bytes +=
      "\(isFirst ? "" : ",")\"\(name)\":\(microseconds / 1_000_000).\(String(microseconds % 1_000_000, digits: 6))".utf8
    isFirst = false
  }

  private mutating func begin(_ name: StaticString) {
    if !isFirst { bytes.append(UInt8(ascii: ",")) }
    isFirst = false
    bytes.append(UInt8(ascii: "\""))
    bytes += UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    bytes += "\":".utf8
  }

  consuming func end() -> [UInt8] {
    bytes.append(UInt8(ascii: "}"))
    return bytes
  }
}
