import Byway
import BywayInterceptors
public import FuzzSupport
import Glibc
import HTTPTypes
import NIOCore

/// The properties of any recording, and of any recorded exchange.
public enum RecordingCheck {
  /// The longest pause that a clock supports.
  private static let longestPause = Duration.seconds(366 * 86_400)

  public static func check(_ input: [UInt8]) throws(Violation) {
    var script = Script(input.dropFirst())
    if let kind = input.first, kind & 1 == 0 {
      _ = try read(script.all())
    } else {
      try roundTrip(&script)
    }
  }

  private struct Exchange: Equatable {
    var status = 0
    var fields: [String] = []
    var chunks: [[UInt8]] = []
    var trailers: [String] = []
    var failure: BywayError.Code?
    /// The number of written bytes that were read.
    var position = 0
  }

  private static func read(_ bytes: [UInt8]) throws(Violation) -> Exchange? {
    var template = Array("/tmp/byway-recording-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw Violation("no file can be made in /tmp") }
    // The open file needs no name, and without one it disappears at the end.
    unlink(template)
    defer { close(descriptor) }
    guard write(descriptor, bytes, bytes.count) == bytes.count else { throw Violation("/tmp is full") }
    guard let playback = try? Playback(OpenFile("/proc/self/fd/\(descriptor)")) else { return nil }
    try check(pause: playback.waiting)
    var exchange = Exchange()
    var reader = playback.reader
    exchange.position = reader.position
    switch playback.answer {
    case .failure(let error):
      exchange.failure = error.code
      return exchange
    case .response(let head):
      exchange.status = head.status.code
      exchange.fields = lines(of: head.headerFields)
    }
    while true {
      guard let event = try? reader.event() else { return nil }
      exchange.position = reader.position
      try expect(reader.position <= bytes.count, "read beyond the end")
      switch event {
      case .chunk(let pause, let chunk):
        try check(pause: pause)
        exchange.chunks.append(Array(chunk.readableBytesView))
      case .end(let trailers):
        exchange.trailers = lines(of: trailers ?? [:])
        return exchange
      case .failure(let pause, let error):
        try check(pause: pause)
        exchange.failure = error.code
        return exchange
      }
    }
  }

  private static func check(pause: Duration) throws(Violation) {
    try expect((Duration.zero...longestPause).contains(pause), "nobody waits for \(pause)")
  }

  private static func roundTrip(_ script: inout Script) throws(Violation) {
    var exchange = Exchange()
    var bytes = Array(RecordingFormat.opening("GET", "http://device/").text.utf8)
    let pause = Duration.milliseconds(script.short())
    let setting = script.byte()
    if setting & 3 != 0 {
      let head = HTTPResponse(status: .init(code: 200 + script.short() % 800), headerFields: fields(&script))
      (exchange.status, exchange.fields) = (head.status.code, lines(of: head.headerFields))
      bytes += RecordingFormat.head(head, after: pause).utf8
      for _ in 0..<Int(setting >> 4) {
        exchange.chunks.append(script.bytes())
        let chunk = ByteBuffer(bytes: exchange.chunks.last ?? [])
        bytes += RecordingFormat.chunk(chunk, after: pause).readableBytesView
      }
    }
    if setting & 3 < 2 {
      let error = BywayError(.linkLost, String(decoding: script.bytes(), as: UTF8.self))
      exchange.failure = error.code
      bytes += RecordingFormat.failure(error, after: pause).utf8
    } else {
      let trailers = fields(&script)
      exchange.trailers = lines(of: trailers)
      bytes += RecordingFormat.end(trailers).utf8
    }
    exchange.position = bytes.count
    let reread = try read(bytes)
    try expect(reread == exchange, "\(exchange) was read as \(String(describing: reread))")
  }

  private static func fields(_ script: inout Script) -> HTTPFields {
    var fields = HTTPFields()
    for _ in 0..<Int(script.byte() & 3) {
      let value = String(decoding: script.bytes(), as: UTF8.self)
      if let name = HTTPField.Name(["x-a", "set-cookie", "Content-Type", "date"][Int(script.byte() & 3)]) {
        fields.append(HTTPField(name: name, value: value))
      }
    }
    return fields
  }

  private static func lines(of fields: HTTPFields) -> [String] {
    fields.map { "\($0.name.canonicalName): \($0.value)" }
  }
}
