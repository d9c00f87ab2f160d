import BywayHTTPWire
import NIOCore
import Testing

@testable import Byway
@testable import BywayInspector

/// Messages parsed from bodies.
@Suite("Messages within an exchange") struct ConversationTests {
  private func messages(
    _ head: FieldSection, _ status: Int, _ given: FieldSection, up: [[UInt8]] = [], down: [[UInt8]] = []
  ) -> [String] {
    var exchanges = InspectedExchanges()
    var record = ExchangeRecord(listener: "", version: .http2, head: head, trace: nil, begun: .now())
    let id = exchanges.begin(record, at: 0)
    record.status = status
    exchanges.update(id) {
      $0.given = given
      $0.record = record
    }
    for (index, bytes) in up.enumerated() {
      exchanges.append(ByteBuffer(bytes: bytes), to: .request, of: id, at: Double(index * 2))
    }
    for (index, bytes) in down.enumerated() {
      exchanges.append(ByteBuffer(bytes: bytes), to: .response, of: id, at: Double(index * 2 + 1))
    }
    return exchanges[id].map(Conversation.messages)?.map {
      "\(Int($0.time)) \($0.from) \($0.kind) \($0.bytes) \($0.text ?? "-")"
    } ?? []
  }

  @Test("server-sent events are parsed with any line ends, each with the arrival time of its last byte")
  func events() {
    let pieces = ["data: a\n", "\nevent: tick\r\ndata: b\r\ndata:c\r\n\r\n", ": comment\n\ndata: unfinished"]
    #expect(
      messages(
        [":method": "GET"], 200, [":status": "200", "content-type": "text/event-stream; charset=utf-8"],
        down: pieces.map { Array($0.utf8) }) == ["3 server message 1 a", "3 server tick 3 b\nc"])
  }

  @Test("WebSocket frames are parsed, and those of the client unmasked")
  func frames() {
    let masked: [UInt8] = [0x81, 0x82, 1, 2, 3, 4, UInt8(ascii: "h") ^ 1, UInt8(ascii: "i") ^ 2]
    let long = [0x82, 126, 1, 0] + [UInt8](repeating: 7, count: 256)
    #expect(
      messages(
        [":method": "CONNECT", ":protocol": "websocket"], 200, [":status": "200"], up: [masked],
        down: [[0x81, 2, 0x6F, 0x6B], long, [0x88, 0], [0x81, 9, 1]]) == [
          "0 client text 2 hi", "1 server text 2 ok", "3 server binary 256 -", "5 server close 0 ",
        ])
  }

  @Test("a WebSocket upgraded from HTTP/1.1 is recognized by the forwarded extended CONNECT")
  func upgraded() {
    var exchanges = InspectedExchanges()
    var record = ExchangeRecord(
      listener: "", version: .http1_1, head: [":method": "GET", "upgrade": "websocket"], trace: nil, begun: .now())
    let id = exchanges.begin(record, at: 0)
    record.status = 200
    exchanges.sent(id, [":method": "CONNECT", ":protocol": "websocket"], record)
    exchanges.update(id) { $0.given = [":status": "200"] }
    exchanges.append(ByteBuffer(bytes: [0x81, 2, 0x6F, 0x6B]), to: .response, of: id, at: 1)
    #expect(exchanges[id].map(Conversation.messages)?.map(\.text) == ["ok"])
  }

  @Test("gRPC messages are parsed up to an impossible length")
  func calls() {
    #expect(
      messages(
        [":method": "POST", "content-type": "application/grpc+proto"], 200, [":status": "200"],
        up: [[0, 0, 0, 0, 2, 8, 1]], down: [[1, 0, 0, 0, 1, 9, 0, 255, 255, 255, 255, 1]]) == [
          "0 client message 2 -", "1 server message, compressed 1 -",
        ])
  }

  /// Returns a long conversation, received in pieces of any size, of which 1,000 bytes are kept.
  private func latest(
    _ head: FieldSection, _ type: FieldSection, _ messages: [[UInt8]], pieces size: Int
  ) throws -> (InspectedExchange, [String]) {
    var exchanges = InspectedExchanges(limits: .init(body: 1000, bodies: 40_000))
    var record = ExchangeRecord(listener: "", version: .http2, head: head, trace: nil, begun: .now())
    let id = exchanges.begin(record, at: 0)
    record.status = 200
    exchanges.update(id) {
      $0.given = type
      $0.record = record
    }
    let all = messages.flatMap { $0 }
    for (index, start) in stride(from: 0, to: all.count, by: size).enumerated() {
      let piece = all[start..<min(start + size, all.count)]
      exchanges.append(ByteBuffer(bytes: piece), to: .response, of: id, at: Double(index))
      let body = try #require(exchanges[id]?.responseBody)
      #expect(body.kept.readableBytes <= 1000 && body.count == start + piece.count)
    }
    let inspected = try #require(exchanges[id])
    #expect(inspected.responseBody.dropped + inspected.responseBody.kept.readableBytes == all.count)
    return (inspected, Conversation.messages(of: inspected).map { "\($0.kind) \($0.text ?? "\($0.bytes)")" })
  }

  @Test(
    "the latest messages of a long conversation are kept whole, however the bytes were split",
    arguments: [1, 7, 64, 999, 1000, 5000])
  func latest(_ size: Int) throws {
    let frames = (0..<500).map { [0x81, 3] + Array("\(100 + $0)".utf8) }
    let socket: FieldSection = [":method": "CONNECT", ":protocol": "websocket"]
    let (_, framed) = try latest(socket, [":status": "200"], frames, pieces: size)
    #expect(framed.count >= 100 && framed == (600 - framed.count..<600).map { "text \($0)" })

    let events = (0..<500).map { Array("data: \($0)\r\n\r\n".utf8) }
    let (inspected, told) = try latest(
      [":method": "GET"], [":status": "200", "content-type": "text/event-stream"], events, pieces: size)
    #expect(told.count >= 30 && told == (500 - told.count..<500).map { "message \($0)" })
    #expect(inspected.responseBody.arrivals.allSatisfy { $0.end > inspected.responseBody.dropped })

    let calls = (0..<200).map { [0, 0, 0, 0, UInt8($0 % 50)] + [UInt8](repeating: 1, count: $0 % 50) }
    let (_, called) = try latest(
      [":method": "POST", "content-type": "application/grpc"], [":status": "200"], calls, pieces: size)
    #expect(called.count >= 10 && called == (200 - called.count..<200).map { "message \($0 % 50)" })
  }

  @Test("a message longer than the kept bytes is left out, and later messages are parsed")
  func tooLong() throws {
    let long = [0x82, 126, 0x1F, 0x40] + [UInt8](repeating: 7, count: 8000)
    let (_, told) = try latest(
      [":method": "CONNECT", ":protocol": "websocket"], [":status": "200"],
      [[0x81, 2, 0x6F, 0x6B], long, [0x81, 3, 0x79, 0x65, 0x73]], pieces: 100)
    #expect(told == ["text yes"])
    // A length beyond any possible message.
    let endless: [UInt8] = [0x82, 127] + [UInt8](repeating: 0xFF, count: 8)
    let (_, nothing) = try latest(
      [":method": "CONNECT", ":protocol": "websocket"], [":status": "200"],
      [endless, [UInt8](repeating: 0x81, count: 3000)], pieces: 100)
    #expect(nothing == [])
  }

  @Test("other content has no messages, and arbitrary bytes cause no crash")
  func others() {
    #expect(messages([":method": "GET"], 200, [":status": "200"], down: [[1, 2, 3]]).isEmpty)
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      let bytes = (0..<Int.random(in: 0..<60)).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
      _ = messages([":method": "CONNECT", ":protocol": "websocket"], 200, [:], up: [bytes], down: [bytes])
      _ = messages([":method": "POST", "content-type": "application/grpc"], 200, [:], up: [bytes], down: [bytes])
      _ = messages([":method": "GET"], 200, ["content-type": "text/event-stream"], down: [bytes])
    }
  }
}
