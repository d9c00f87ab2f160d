import HTTPWire
import NIOCore
import Testing

@testable import Byway
@testable import BywayInspector

/// Messages in bodies.
@Suite("Conversations") struct ConversationTests {
  private func messages(
    _ head: FieldSection, _ status: Int, _ given: FieldSection, up: [[UInt8]] = [], down: [[UInt8]] = []
  ) -> [String] {
    var sightings = Sightings()
    var record = ExchangeRecord(listener: "", version: .http2, head: head, trace: nil, begun: .now())
    let id = sightings.begin(record, at: 0)
    record.status = status
    sightings.update(id) {
      $0.given = given
      $0.record = record
    }
    for (index, bytes) in up.enumerated() {
      sightings.append(ByteBuffer(bytes: bytes), to: .request, of: id, at: Double(index * 2))
    }
    for (index, bytes) in down.enumerated() {
      sightings.append(ByteBuffer(bytes: bytes), to: .response, of: id, at: Double(index * 2 + 1))
    }
    return sightings[id].map(Conversation.messages)?.map {
      "\(Int($0.time)) \($0.from) \($0.kind) \($0.bytes) \($0.text ?? "-")"
    } ?? []
  }

  @Test("server-sent events, however their lines end, when their last byte came")
  func events() {
    let pieces = ["data: a\n", "\nevent: tick\r\ndata: b\r\ndata:c\r\n\r\n", ": comment\n\ndata: unfinished"]
    #expect(
      messages(
        [":method": "GET"], 200, [":status": "200", "content-type": "text/event-stream; charset=utf-8"],
        down: pieces.map { Array($0.utf8) }) == ["3 server message 1 a", "3 server tick 3 b\nc"])
  }

  @Test("frames of a WebSocket, those of the client without their mask")
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

  @Test("a WebSocket of HTTP/1.1 is one by what is sent on, as its client asked by GET and Upgrade")
  func upgraded() {
    var sightings = Sightings()
    var record = ExchangeRecord(
      listener: "", version: .http1_1, head: [":method": "GET", "upgrade": "websocket"], trace: nil, begun: .now())
    let id = sightings.begin(record, at: 0)
    record.status = 200
    sightings.sent(id, [":method": "CONNECT", ":protocol": "websocket"], record)
    sightings.update(id) { $0.given = [":status": "200"] }
    sightings.append(ByteBuffer(bytes: [0x81, 2, 0x6F, 0x6B]), to: .response, of: id, at: 1)
    #expect(sightings[id].map(Conversation.messages)?.map(\.text) == ["ok"])
  }

  @Test("messages of gRPC; a length that lies is the end")
  func calls() {
    #expect(
      messages(
        [":method": "POST", "content-type": "application/grpc+proto"], 200, [":status": "200"],
        up: [[0, 0, 0, 0, 2, 8, 1]], down: [[1, 0, 0, 0, 1, 9, 0, 255, 255, 255, 255, 1]]) == [
          "0 client message 2 -", "1 server message, compressed 1 -",
        ])
  }

  @Test("what is none of these has no messages, and any bytes are read without harm")
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
