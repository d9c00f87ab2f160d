import BywayHTTP2Session
import BywayHTTPWire
import FuzzSupport
import NIOCore

/// A session, its owner, and a peer that sends frames without following any rule. A script controls all three.
struct HostilePeer {
  private static let windows = (initial: 70_000, growth: 100_000)
  private static let concurrent = 5
  /// The largest frame that is not cut to fit: the largest permitted head.
  private static let longestFrame = 256 << 10

  private var script: Script
  private let session: HTTP2Session
  private var observer: SessionObserver
  private var now = NIODeadline.uptimeNanoseconds(1)

  init(_ script: Script, role: HTTP2Session.Role) {
    self.script = script
    let setting = self.script.byte()
    var configuration = HTTP2Configuration.defaults
    configuration.windows.initial = Self.windows.initial
    configuration.windows.usual = 90_000
    configuration.windows.maximum = 200_000
    configuration.windows.growth = Self.windows.growth
    configuration.streams.maximumConcurrent = Self.concurrent
    configuration.streams.maximumHeaderListSize = 2048
    if setting & 1 != 0 { configuration.timeouts.idle = .seconds(10) }
    if setting & 2 != 0 { configuration.timeouts.pingInterval = .seconds(2) }
    if setting & 4 != 0 { configuration.floods.controlFrames = RateLimit(burst: 4, perSecond: 1) }
    session = HTTP2Session(role: role, configuration: configuration, at: now)
    observer = SessionObserver(role: role)
    // Most scripts include the connection preface; without it they would test no later state.
    if setting & 0x80 == 0 {
      if role == .server { receive(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)) }
      receive(frame(4, flags: 0, id: 0, []))
    }
  }

  mutating func run() throws(Violation) {
    while !script.isEmpty, observer.failure == nil {
      step()
      try listen()
      try check()
    }
    // In any state, this many zeros are not HTTP/2.
    receive([UInt8](repeating: 0, count: 1 << 16))
    var goAway = ByteBuffer()
    session.nextTransmit(maximum: 1 << 20, into: &goAway, at: now)
    try listen()
    try expect(
      session.isFinished && session.openStreams == 0, "the peer speaks HTTP/2 no more, and the session goes on")
    try expect(observer.streams.isEmpty, "never closed: \(observer.streams.keys.sorted())")
  }

  // MARK: Commands of the script

  private mutating func step() {
    switch script.byte() & 15 {
    case 0: receive(script.bytes())
    case 1, 2, 3: receive(anyFrame())
    case 4: receive(frame(1, flags: script.byte() | 4, id: stream(), Self.blocks[Int(script.byte() & 3)]))
    case 5:
      receive(frame(0, flags: script.byte() & 9, id: stream(), [UInt8](repeating: 0, count: script.short() & 0x3FFF)))
    case 6: receive(frame(8, flags: 0, id: stream(), [0, script.byte(), script.byte(), script.byte()]))
    case 7: submit()
    case 8: session.write(StreamID(stream()), ByteBuffer(repeating: 1, count: script.short() & 0xFFF))
    case 9: session.finish(StreamID(stream()), trailers: script.byte() & 1 == 0 ? nil : ["x-sum": "1"])
    case 10:
      let id = StreamID(stream())
      session.consume(id, bytes: observer.read(id, upTo: script.short()))
    case 11:
      let id = StreamID(stream())
      session.reset(id, HTTP2ErrorCode(rawValue: UInt32(script.byte() & 15)))
      observer.didReset(id)
    case 12: session.stopReceiving(StreamID(stream()))
    case 13: sayGoodbye()
    case 14: wait(.milliseconds(Int64(script.short())))
    default: break
    }
  }

  private mutating func submit() {
    if session.role == .client {
      let head: FieldSection = [":method": "POST", ":scheme": "http", ":authority": "device", ":path": "/"]
      if let id = try? session.submitRequest(head, endStream: script.byte() & 1 == 0) { observer.opened(id) }
    } else {
      let id = StreamID(stream())
      if script.byte() & 3 == 0 {
        session.submitInformational(id, [":status": "103"])
      } else {
        session.submitResponse(id, [":status": "200", "priority": "u=1"], endStream: script.byte() & 1 == 0)
      }
    }
  }

  private mutating func sayGoodbye() {
    switch script.byte() & 3 {
    case 0: session.goAway()
    case 1: session.shutdownNotice()
    default: session.ping()
    }
  }

  private mutating func wait(_ time: TimeAmount) {
    now = now + time
    // A deadline may be due at once, but not for ever.
    for _ in 0..<50 {
      guard let deadline = session.nextDeadline, deadline <= now else { break }
      session.handleTimeout(at: now)
    }
  }

  // MARK: Frames of the peer

  private func receive(_ bytes: [UInt8]) {
    session.receive(ByteBuffer(bytes: bytes), at: now)
  }

  private mutating func anyFrame() -> [UInt8] {
    let (type, flags, id) = (script.byte() & 31, script.byte(), stream())
    return frame(type, flags: flags, id: script.byte() & 3 == 0 ? 0 : id, script.bytes())
  }

  private func frame(_ type: UInt8, flags: UInt8, id: UInt32, _ payload: [UInt8]) -> [UInt8] {
    Array(bigEndian(UInt32(payload.count)).dropFirst()) + [type, flags] + bigEndian(id) + payload
  }

  private func bigEndian(_ number: UInt32) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  private mutating func stream() -> UInt32 {
    UInt32(script.byte() & 31)
  }

  /// A request, a response, trailers, and early hints, as HPACK literals without indexing (RFC 7541 §6.2.2).
  private static let blocks: [[UInt8]] = [
    block([(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "device")]),
    block([(":status", "200"), ("content-length", "5")]),
    block([("x-sum", "1")]),
    block([(":status", "103")]),
  ]

  private static func block(_ fields: [(String, String)]) -> [UInt8] {
    fields.flatMap { name, value -> [UInt8] in [0] + string(name) + string(value) }
  }

  private static func string(_ text: String) -> [UInt8] {
    [UInt8(text.utf8.count)] + Array(text.utf8)
  }

  // MARK: Properties

  private mutating func listen() throws(Violation) {
    let room = script.short() & 0x3FFF
    for _ in 0..<64 {
      var output = ByteBuffer()
      session.nextTransmit(maximum: room, into: &output, at: now)
      try expect(
        output.readableBytes <= room + Self.longestFrame, "\(output.readableBytes) bytes where \(room) were asked for")
      while let event = session.nextEvent() { try observer.hear(event) }
      if output.readableBytes == 0 { return }
    }
  }

  private func check() throws(Violation) {
    let open = max(observer.streams.count, session.openStreams)
    try expect(session.role == .client || open <= Self.concurrent, "\(open) streams are open")
    let bound = observer.streams.count * Self.windows.initial + Self.windows.growth
    try expect(observer.unread <= bound, "\(observer.unread) bytes are unread, \(bound) were allowed")
  }
}
