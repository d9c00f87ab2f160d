import BywayHTTP2Session
import BywayHTTPWire
import NIOCore
import Testing

@Suite struct ExchangeTests {
  @Test("a session carries a request and a response with their bodies") func exchange() throws {
    let pair = Pair()
    let id = try pair.client.submitRequest(.post("/a?b", ("x-one", "1")), endStream: false)
    pair.client.write(id, ByteBuffer(string: "ques"))
    pair.client.write(id, ByteBuffer(string: "tion"))
    pair.client.finish(id)
    pair.exchange()
    let request = pair.takeServerEvents()
    #expect(request.contains(.head(id, .post("/a?b", ("x-one", "1")), endStream: false)))
    #expect(request.body(of: id) == (ByteBuffer(string: "question"), true))

    pair.server.submitResponse(id, [":status": "200", "x-two": "2"], endStream: false)
    pair.server.write(id, ByteBuffer(string: "answer"))
    pair.server.finish(id)
    pair.exchange()
    let response = pair.takeClientEvents()
    #expect(response.contains(.head(id, [":status": "200", "x-two": "2"], endStream: false)))
    #expect(response.body(of: id) == (ByteBuffer(string: "answer"), true))
    #expect(response.last == .closed(id, .noError, isUnprocessed: false))
    #expect(pair.takeServerEvents().last == .closed(id, .noError, isUnprocessed: false))
    #expect(pair.client.openStreams == 0 && pair.server.openStreams == 0)
  }

  @Test("a session carries informational responses and trailers in order") func informationalAndTrailers() throws {
    let pair = Pair()
    let id = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    pair.server.submitInformational(id, [":status": "103", "link": "</a.css>"])
    pair.server.submitInformational(id, [":status": "100"])
    pair.server.submitResponse(id, [":status": "200", "trailer": "grpc-status"], endStream: false)
    pair.server.write(id, ByteBuffer(string: "x"))
    pair.server.finish(id, trailers: ["grpc-status": "0"])
    pair.exchange()
    let events = pair.takeClientEvents().filter { if case .settingsReceived = $0 { false } else { true } }
    #expect(
      events == [
        .informational(id, [":status": "103", "link": "</a.css>"]),
        .informational(id, [":status": "100"]),
        .head(id, [":status": "200", "trailer": "grpc-status"], endStream: false),
        .data(id, ByteBuffer(string: "x"), endStream: false),
        .trailers(id, ["grpc-status": "0"]),
        .closed(id, .noError, isUnprocessed: false),
      ])
  }

  @Test("a session carries request trailers, even without a body") func requestTrailers() throws {
    let pair = Pair()
    let id = try pair.client.submitRequest(.post(), endStream: false)
    pair.client.finish(id, trailers: ["x-sum": "0"])
    pair.exchange()
    #expect(pair.toServer.contains(.trailers(id, ["x-sum": "0"])))
  }

  @Test("pseudo-header fields are sent first, in any order of the head") func order() throws {
    let pair = Pair()
    let head: FieldSection = [
      "x-a": "1", ":path": "/p", ":method": "GET", "x-b": "2", ":scheme": "http", ":authority": "h",
    ]
    let id = try pair.client.submitRequest(head, endStream: true)
    pair.exchange()
    let expected: FieldSection = [
      ":path": "/p", ":method": "GET", ":scheme": "http", ":authority": "h", "x-a": "1", "x-b": "2",
    ]
    #expect(pair.toServer.contains(.head(id, expected, endStream: true)))
  }

  @Test("body bytes are passed on without a copy") func zeroCopy() throws {
    let pair = Pair()
    let id = try pair.client.submitRequest(.post(), endStream: false)
    pair.client.write(id, ByteBuffer(repeating: 7, count: 10_000))
    var wire = ByteBuffer()
    pair.client.nextTransmit(maximum: 1 << 20, into: &wire, at: pair.now)
    let received = wire.withUnsafeReadableBytes { ($0.baseAddress, $0.count) }
    pair.server.receive(wire, at: pair.now)
    pair.collect()
    let body = pair.toServer.compactMap { if case .data(id, let bytes, _) = $0 { bytes } else { nil } }
    #expect(body.count == 1)
    let start = try #require(received.0)
    body.first?.withUnsafeReadableBytes { bytes in
      #expect(bytes.baseAddress.map { $0 >= start && $0 < start + received.1 } == true)
    }
  }

  @Test("the owner is notified when its body bytes have been sent") func drained() throws {
    let pair = Pair()
    let id = try pair.client.submitRequest(.post(), endStream: false)
    pair.client.write(id, ByteBuffer(repeating: 7, count: 100_000))
    pair.exchange()
    let drained = pair.toClient.reduce(0) { if case .drained(id, let bytes) = $1 { $0 + bytes } else { $0 } }
    // The initial window is 64 KiB - 1 until the server's SETTINGS have arrived, as they have here.
    #expect(drained == 100_000)
  }
}
