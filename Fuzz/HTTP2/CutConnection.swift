import BywayHTTP2Session
import BywayHTTPWire
import FuzzSupport
import NIOCore

/// A check that the bytes of a connection give the same events at once and in pieces.
enum CutConnection {
  static func check(_ script: Script, role: HTTP2Session.Role) throws(Violation) {
    var script = script
    let seed = script.byte()
    var bytes = script.all()
    if seed & 1 == 0, role == .server { bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + bytes }
    let whole = try hear([bytes], role)
    let pieces = try hear(bytes.cut(like: seed), role)
    try expect(whole.events == pieces.events, "cutting changes \(whole.events) to \(pieces.events)")
    try expect(whole.failure == pieces.failure, "cutting changes the end from \(whole.end) to \(pieces.end)")
    for (id, body) in whole.bodies {
      let other = pieces.bodies[id] ?? []
      // The pieces decide how much of an invalid body was passed on before the error was detected.
      let isSame = whole.complete.contains(id) ? body == other : body.starts(with: other) || other.starts(with: body)
      try expect(isSame, "cutting changes the body of stream \(id)")
    }
  }

  private struct Heard {
    var events: [String] = []
    var bodies: [StreamID: [UInt8]] = [:]
    var complete: Set<StreamID> = []
    var failure: [String] = []
    var end: String { failure.isEmpty ? "none" : failure.joined(separator: " ") }
  }

  private static func name(of kind: HTTP2Failure.Kind) -> String {
    // The pieces decide how many bytes were read before it was clear that the peer does not speak HTTP/2.
    if case .notHTTP2 = kind { "notHTTP2" } else { "\(kind)" }
  }

  private static func hear(_ pieces: [[UInt8]], _ role: HTTP2Session.Role) throws(Violation) -> Heard {
    let now = NIODeadline.uptimeNanoseconds(1)
    let session = HTTP2Session(role: role, at: now)
    var observer = SessionObserver(role: role)
    var heard = Heard()
    if role == .client {
      for _ in 0..<3 {
        let head: FieldSection = [":method": "GET", ":scheme": "http", ":authority": "device", ":path": "/"]
        if let id = try? session.submitRequest(head, endStream: true) { observer.opened(id) }
      }
      var output = ByteBuffer()
      session.nextTransmit(maximum: 1 << 20, into: &output, at: now)
    }
    for piece in pieces { session.receive(ByteBuffer(bytes: piece), at: now) }
    var output = ByteBuffer()
    session.nextTransmit(maximum: 1 << 20, into: &output, at: now)
    while let event = session.nextEvent() {
      try observer.hear(event)
      switch event {
      case .data(let id, let bytes, let isLast):
        heard.bodies[id, default: []] += bytes.readableBytesView
        if isLast {
          heard.complete.insert(id)
          heard.events.append("end of \(id)")
        }
      case .failed(let failure):
        heard.failure = [name(of: failure.kind), "\(failure.code)"]
      default:
        heard.events.append("\(event)")
      }
    }
    return heard
  }
}
