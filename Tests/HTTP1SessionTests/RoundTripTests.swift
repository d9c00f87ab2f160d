import BywayHTTP1Session
import BywayHTTPWire
import HTTP1Checks
import NIOCore
import TestTools
import Testing

@Suite("Encoder and parser together")
struct RoundTripTests {
  @Test("random requests on one connection survive encoding and parsing, split at random")
  func requests() throws {
    for seed in 0..<300 as Range<UInt64> {
      var random = SeededRandom(seed: seed)
      var encoder = RequestEncoder()
      var wire = ByteBuffer()
      var expected: [Outcome.Event] = []
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let message = RandomMessage(using: &random)
        var fields: FieldSection = [":method": message.body.isEmpty ? "GET" : "POST", ":path": "/\(seed)"]
        fields.append(.authority, "host:\(seed)")
        message.fields.forEach { fields.append(name: $0, value: $1) }
        var declared = fields
        if message.declaresLength { declared.append(.contentLength, String(message.body.count)) }
        try encoder.writeHead(declared, .init(hasBody: !message.body.isEmpty), into: &wire)
        try message.writeBody(with: &encoder, into: &wire)

        // The parser reports Host directly after the start line, where the encoder puts it.
        let framing = encoder.framing
        if case .length(let length) = framing { fields.append(.contentLength, String(length)) }
        expected.append(.request(fields, framing, keepAlive: true))
        expected += message.expectedBody(framing)
      }
      let outcome = readRequests(random.cut(Array(wire.readableBytesView)))
      #expect(outcome == Outcome(events: expected), "seed \(seed)")
    }
  }

  @Test("random responses survive encoding and parsing, split at random")
  func responses() throws {
    for seed in 0..<300 as Range<UInt64> {
      var random = SeededRandom(seed: seed)
      var encoder = ResponseEncoder()
      var wire = ByteBuffer()
      let message = RandomMessage(using: &random)
      let keepAlive = Bool.random(using: &random)
      let version: HTTP1Version = keepAlive || Bool.random(using: &random) ? .v1_1 : .v1_0
      let context = ResponseEncoder.Context(version: version, keepAlive: keepAlive)
      var fields: FieldSection = [":status": String(Int.random(in: 205...303, using: &random))]
      message.fields.forEach { fields.append(name: $0, value: $1) }
      var declared = fields
      if message.declaresLength { declared.append(.contentLength, String(message.body.count)) }
      try encoder.writeInformational([":status": "103", "link": "x"], .init(), into: &wire)
      try encoder.writeHead(declared, context, hasBody: !message.body.isEmpty, into: &wire)
      try message.writeBody(with: &encoder, into: &wire)

      if case .length(let length) = encoder.framing { fields.append(.contentLength, String(length)) }
      var expected: [Outcome.Event] = [
        .informational([":status": "103", "link": "x"]),
        .response(fields, encoder.framing, keepAlive: encoder.keepAlive),
      ]
      expected += message.expectedBody(encoder.framing)
      let outcome = readResponse(random.cut(Array(wire.readableBytesView)), closed: true)
      #expect(outcome == Outcome(events: expected), "seed \(seed)")
    }
  }
}

/// A message with random fields, content in pieces, and trailers.
private struct RandomMessage {
  let fields: [(String, String)]
  let body: [UInt8]
  let declaresLength: Bool
  private let pieces: [[UInt8]]
  private let trailers: FieldSection?

  init(using random: inout SeededRandom) {
    fields = Self.fields(prefix: "x", using: &random)
    body = (0..<Int.random(in: 0...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    declaresLength = Bool.random(using: &random) && !body.isEmpty
    pieces = random.cut(body)
    var trailers: FieldSection = [:]
    for (name, value) in Self.fields(prefix: "t", using: &random) { trailers.append(name: name, value: value) }
    self.trailers = trailers.isEmpty ? nil : trailers
  }

  func writeBody(with encoder: inout some MessageEncoder, into wire: inout ByteBuffer) throws {
    for piece in pieces { try encoder.writeBody(ByteBuffer(bytes: piece), into: &wire) }
    try encoder.writeEnd(trailers: trailers, into: &wire)
  }

  func expectedBody(_ framing: BodyFraming) -> [Outcome.Event] {
    (body.isEmpty ? [] : [.body(body)]) + [.end(framing == .chunked ? trailers : nil)]
  }

  private static func fields(prefix: String, using random: inout SeededRandom) -> [(String, String)] {
    let characters = Array("abc 123,;=\"\t!\u{E9}")
    return (0..<Int.random(in: 0...6, using: &random)).map { index in
      let value = (0..<Int.random(in: 0...40, using: &random)).map { _ in
        characters.randomElement(using: &random) ?? "a"
      }
      // White space at the ends is not part of a value.
      return ("\(prefix)-\(index)", "v\(String(value))v")
    }
  }
}
