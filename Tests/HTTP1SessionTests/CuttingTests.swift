import BywayHTTP1Session
import BywayHTTPWire
import HTTP1Checks
import TestTools
import Testing

@Suite("Parsers of split messages")
struct CuttingTests {
  private static let responses: [(String, RequestKind)] = [
    ("HTTP/1.1 200 OK\r\nContent-Length: 11\r\nX: a, b\r\n\r\nhello world", .ordinary),
    (
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n",
      .ordinary
    ),
    (
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
      .ordinary
    ),
    ("HTTP/1.0 200 OK\r\nServer: x\r\n\r\nuntil the end\r\n0\r\n\r\n", .ordinary),
    ("HTTP/1.1 200 OK\r\n\r\nraw bytes", .connect),
    ("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\u{81}\u{02}hi", .webSocket),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more", .ordinary),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", .ordinary),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n", .ordinary),
    ("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\ncut off", .ordinary),
    ("HTTP/1.1 200 OK\nContent-Length: 0\n\n", .ordinary),
    ("SSH-2.0-OpenSSH_9.2\r\n", .ordinary),
    ("HTTP/1.1 200 OK\r\nX: a\r\n folded\r\n\r\n", .ordinary),
  ]

  private static let requests = [
    "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nabcd\r\nPUT http://h:1/x HTTP/1.1\r\nHost: y\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0a;x\r\n0123456789\r\n0\r\nX: y\r\n\r\n",
    "\r\nOPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close, a\r\nA: b\r\n\r\n",
    "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nX : y\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\nX: y\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX\r\n\r\n",
    "\u{16}\u{03}\u{01}\u{02}\u{00}\u{01}", "GET / HTTP/2.0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\r\n\r\n\r\n",
    "\rX\r\n",
  ]

  @Test("a response parser gives the same messages for bytes one by one and for random pieces")
  func responses() {
    for (text, request) in Self.responses {
      let whole = readResponse(text, to: request, closed: true)
      #expect(readResponse(bytes(text).map { [$0] }, to: request, closed: true) == whole)
      for seed in 0..<100 as Range<UInt64> {
        var random = SeededRandom(seed: seed)
        #expect(readResponse(random.cut(bytes(text)), to: request, closed: true) == whole, "seed \(seed)")
      }
    }
  }

  @Test("a request parser gives the same messages for bytes one by one and for random pieces")
  func requests() {
    for text in Self.requests {
      let whole = readRequests(text, closed: true)
      #expect(readRequests(bytes(text).map { [$0] }, closed: true) == whole)
      for seed in 0..<100 as Range<UInt64> {
        var random = SeededRandom(seed: seed)
        #expect(readRequests(random.cut(bytes(text)), closed: true) == whole, "seed \(seed)")
      }
    }
  }

  @Test(
    "parsers survive random changes of messages, and give the same result however the bytes are split")
  func mutations() {
    let interesting = bytes("\r\n\u{0}\t :;,0Fx-\u{7F}\u{FF}")
    for seed in 0..<3000 as Range<UInt64> {
      var random = SeededRandom(seed: seed)
      let (response, request) = Self.responses[Int.random(in: 0..<Self.responses.count, using: &random)]
      var reply = bytes(response)
      var query = bytes(Self.requests[Int.random(in: 0..<Self.requests.count, using: &random)])
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        Self.mutate(&reply, with: interesting, &random)
        Self.mutate(&query, with: interesting, &random)
      }
      #expect(
        readResponse(random.cut(reply), to: request, closed: true) == readResponse([reply], to: request, closed: true),
        "seed \(seed)")
      #expect(readRequests(random.cut(query), closed: true) == readRequests([query], closed: true), "seed \(seed)")
    }
  }

  private static func mutate(_ bytes: inout [UInt8], with interesting: [UInt8], _ random: inout SeededRandom) {
    guard let index = bytes.indices.randomElement(using: &random) else { return }
    let byte = interesting.randomElement(using: &random) ?? 0
    switch Int.random(in: 0..<4, using: &random) {
    case 0: bytes[index] = byte
    case 1: bytes.insert(byte, at: index)
    case 2: bytes.remove(at: index)
    default: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    }
  }
}
