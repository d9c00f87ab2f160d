import BywayHTTP1Session
import BywayHTTPWire
public import FuzzSupport
import NIOCore

/// The properties of a whole connection, for any actions of its peer and its owner, and any passing of time.
public enum ConnectionCheck {
  /// - Parameter input: one byte that selects the end, then commands.
  public static func check(_ input: [UInt8]) throws(Violation) {
    var script = Script(input)
    if script.byte() & 1 == 0 {
      var run = ServerRun()
      while !script.isEmpty { try run.step(&script) }
      try run.finish()
    } else {
      var run = ClientRun()
      while !script.isEmpty { try run.step(&script) }
      try run.finish()
    }
  }
}

/// The common state of both ends: time and counters.
private struct Ledger {
  var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
  /// Bytes of content that were written, and that were reported as sent, in the running exchange.
  var written = 0
  var drained = 0

  mutating func drained(_ bytes: Int) throws(Violation) {
    drained += bytes
    try expect(bytes > 0 && drained <= written, "\(drained) bytes have left of \(written)")
  }

  /// Takes bytes to send, perhaps not all of them.
  func transmit(_ session: some ConnectionSession, maximum: Int) throws(Violation) {
    for _ in 0..<1000 where session.wantsTransmit {
      guard let bytes = session.nextTransmit(maximum: maximum, at: now) else { return }
      try expect((1...maximum).contains(bytes.readableBytes), "\(bytes.readableBytes) bytes of \(maximum)")
      if maximum < 100 { return }
    }
    try expect(!session.wantsTransmit, "it never ends to send")
  }

  /// Lets time pass. A deadline that has passed must change.
  /// - Returns: the events of that time.
  mutating func pass<Session: ConnectionSession>(
    _ session: Session, _ seconds: UInt8
  ) throws(Violation) -> [Session.Event] {
    now = now + .seconds(Int64(seconds))
    var events: [Session.Event] = []
    for _ in 0..<8 {
      guard let deadline = session.nextDeadline, deadline <= now else { return events }
      session.handleTimeout(at: now)
      while let event = session.nextEvent() { events.append(event) }
    }
    try expect(session.nextDeadline.map { $0 > now } ?? true, "a deadline stands still")
    return events
  }

  /// Checks that a connection that ended at once reports no more events.
  static func expectOver(_ session: some ConnectionSession) throws(Violation) {
    guard case .abort = session.ending else { return }
    try expect(session.nextDeadline == nil, "a connection that is over waits for time to pass")
  }
}

private struct ServerRun {
  private enum Phase { case idle, exchanging, refused }

  private let session = HTTP1ServerSession(at: .uptimeNanoseconds(1_000_000_000))
  private var ledger = Ledger()
  private var phase = Phase.idle
  private var unconsumed = 0

  mutating func step(_ script: inout Script) throws(Violation) {
    let order = script.byte()
    switch order & 7 {
    case 0, 1: session.receive(ByteBuffer(bytes: script.bytes()), at: ledger.now)
    case 2: try respond(order)
    case 3: write(Int(order) * 40)
    case 4: try finish(order)
    case 5: try ledger.transmit(session, maximum: order & 8 == 0 ? 50 : 100_000)
    case 6: for event in try ledger.pass(session, order) { try handle(event) }
    default: try other(order)
    }
    try drain()
    try Ledger.expectOver(session)
  }

  private mutating func other(_ order: UInt8) throws(Violation) {
    switch order >> 3 & 7 {
    case 0: session.receiveEnd(at: ledger.now)
    case 1: session.drain(at: ledger.now)
    case 2: session.cutShort()
    case 3: session.outputEnded(at: ledger.now)
    case 4: session.informational([":status": "103"])
    default:
      session.consume(unconsumed)
      unconsumed = 0
      _ = session.releaseRead(at: ledger.now)
    }
  }

  private func respond(_ order: UInt8) throws(Violation) {
    let status = ["200", "204", "304", "101", "413", "407", "99", "x"][Int(order >> 3 & 7)]
    var head: FieldSection = [":status": "\(status)"]
    if order & 64 != 0 { head.append(.contentLength, "5") }
    try? session.respond(
      head, isComplete: order & 128 != 0, upgrade: status == "101" ? "websocket" : nil, at: ledger.now)
  }

  private mutating func write(_ count: Int) {
    guard case .exchanging = phase else { return }
    if (try? session.write(ByteBuffer(repeating: 7, count: count))) != nil { ledger.written += count }
  }

  private func finish(_ order: UInt8) throws(Violation) {
    try? session.finish(trailers: order & 8 == 0 ? nil : ["trailer": "x"], at: ledger.now)
  }

  private mutating func drain() throws(Violation) {
    while let event = session.nextEvent() { try handle(event) }
  }

  private mutating func handle(_ event: HTTP1ServerEvent) throws(Violation) {
    switch (event, phase) {
    case (.head, .idle):
      phase = .exchanging
      (ledger.written, ledger.drained, unconsumed) = (0, 0, 0)
    case (.refused, .idle), (.refused, .exchanging): phase = .refused
    case (.content(let bytes), .exchanging):
      try expect(bytes.readableBytes > 0, "an empty piece of content")
      unconsumed += bytes.readableBytes
    case (.end, .exchanging): break
    case (.drained(let bytes), _): try ledger.drained(bytes)
    case (.closed, .exchanging), (.closed, .refused): phase = .idle
    default: throw Violation("\(event) while \(phase)")
    }
  }

  /// Checks that time ends the connection in any state.
  mutating func finish() throws(Violation) {
    session.cutShort()
    try drain()
    try Ledger.expectOver(session)
  }
}

private struct ClientRun {
  private enum Phase { case idle, waiting, answered, failed }

  private let session = HTTP1ClientSession(at: .uptimeNanoseconds(1_000_000_000))
  private var ledger = Ledger()
  private var phase = Phase.idle
  private var unconsumed = 0

  mutating func step(_ script: inout Script) throws(Violation) {
    let order = script.byte()
    switch order & 7 {
    case 0, 1: session.receive(ByteBuffer(bytes: script.bytes()), at: ledger.now)
    case 2: try begin(order)
    case 3:
      if phase == .waiting || phase == .answered {
        session.write(ByteBuffer(repeating: 7, count: Int(order) * 40), at: ledger.now)
        ledger.written += Int(order) * 40
      }
    case 4: session.finish(trailers: order & 8 == 0 ? nil : ["trailer": "x"], at: ledger.now)
    case 5: try ledger.transmit(session, maximum: order & 8 == 0 ? 50 : 100_000)
    case 6: for event in try ledger.pass(session, order) { try handle(event) }
    default:
      switch order >> 3 & 7 {
      case 0: session.receiveEnd(at: ledger.now)
      case 1:
        session.cancel()
        phase = .failed
      default:
        session.consume(unconsumed)
        unconsumed = 0
        _ = session.releaseRead(at: ledger.now)
      }
    }
    try drain()
    try Ledger.expectOver(session)
  }

  private mutating func begin(_ order: UInt8) throws(Violation) {
    guard session.isReusable else { return }
    try expect(phase == .idle || phase == .failed, "it can be used again while \(phase)")
    let method = ["GET", "HEAD", "POST", "CONNECT"][Int(order >> 3 & 3)]
    var head: FieldSection = [":method": "\(method)", ":authority": "here", ":path": "/"]
    if order & 32 != 0 { head.append(.contentLength, "5") }
    if order & 64 != 0 { head.append(.protocol, "websocket") }
    let isComplete = order & 128 == 0 && method != "CONNECT"
    guard (try? session.begin(head, isComplete: isComplete, readAhead: nil, at: ledger.now)) != nil else {
      try expect(session.isReusable, "a request that cannot be written costs the connection")
      return
    }
    phase = .waiting
    (ledger.written, ledger.drained, unconsumed) = (0, 0, 0)
  }

  private mutating func drain() throws(Violation) {
    while let event = session.nextEvent() { try handle(event) }
  }

  private mutating func handle(_ event: HTTP1ClientEvent) throws(Violation) {
    switch (event, phase) {
    case (.informational, .waiting): break
    case (.head(_, isComplete: false), .waiting), (.upgraded, .waiting): phase = .answered
    case (.head(_, isComplete: true), .waiting): phase = .idle
    case (.data(let bytes), .answered):
      try expect(bytes.readableBytes > 0, "an empty piece of content")
      unconsumed += bytes.readableBytes
    case (.end, .answered): phase = .idle
    case (.drained(let bytes), _): try ledger.drained(bytes)
    case (.failed, .waiting), (.failed, .answered): phase = .failed
    default: throw Violation("\(event) while \(phase)")
    }
  }

  mutating func finish() throws(Violation) {
    session.cancel()
    try expect(!session.wantsTransmit && !session.isReusable, "a cancelled connection goes on")
    try drain()
    try Ledger.expectOver(session)
  }
}
