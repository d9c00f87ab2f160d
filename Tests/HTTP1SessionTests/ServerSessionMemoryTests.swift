import BywayHTTP1Session
import BywayHTTPWire
import NIOCore
import Testing

/// Memory of a session whose client does not read.
@Suite("Memory of the HTTP/1.1 server session") struct ServerSessionMemoryTests {
  @Test("informational responses are omitted for a client that does not read, and sent again once it reads")
  func informational() {
    let now = NIODeadline.uptimeNanoseconds(0)
    let session = HTTP1ServerSession(at: now)
    session.receive(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: here\r\n\r\n"), at: now)
    while session.nextEvent() != nil {}
    let head: FieldSection = [":status": "103", "link": String(repeating: "l", count: 30_000)]
    func sent() -> Int {
      var count = 0
      while let bytes = session.nextTransmit(maximum: .max, at: now) { count += bytes.readableBytes }
      return count
    }
    for _ in 0..<20 { session.informational(head) }
    #expect((90_000..<91_000).contains(sent()))
    session.informational(head)
    #expect((30_000..<31_000).contains(sent()))
  }
}
