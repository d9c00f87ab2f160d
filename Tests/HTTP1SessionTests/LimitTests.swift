import BywayHTTP1Session
import HTTP1Checks
import NIOCore
import Testing

@Suite("Limits of HTTP/1.1")
struct LimitTests {
  private static func fill(_ count: Int) -> String { String(repeating: "a", count: count) }
  private static let chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"

  @Test("a long request line gets 414, whether or not it ends")
  func requestLine() {
    let fitting = 16 * 1024 - "GET / HTTP/1.1".utf8.count
    let longest = "GET /\(Self.fill(fitting)) HTTP/1.1\r\nHost: h\r\n\r\n"
    #expect(readRequests(longest).isComplete)
    #expect(readRequests("GET /\(Self.fill(fitting + 1)) HTTP/1.1\r\nHost: h\r\n\r\n").failure?.status == 414)
    #expect(readRequests("GET /\(Self.fill(16 * 1024))").failure?.status == 414)
  }

  @Test("a large request head gets 431, whether or not it ends")
  func head() {
    let start = "GET / HTTP/1.1\r\nHost: h\r\n"
    #expect(readRequests("\(start)X: \(Self.fill(65_000))\r\n\r\n").isComplete)
    #expect(readRequests("\(start)X: \(Self.fill(65_536))\r\n\r\n").failure?.status == 431)
    #expect(readRequests("\(start)X: \(Self.fill(65_536))").failure?.status == 431)
    let lines = String(repeating: "X: \(Self.fill(1000))\r\n", count: 70)
    #expect(readRequests(start + lines).failure?.status == 431)
  }

  @Test("a request with many fields, or many names in Connection, gets 431")
  func fieldCount() {
    let start = "GET / HTTP/1.1\r\nHost: h\r\n"
    #expect(readRequests(start + String(repeating: "a:\r\n", count: 255) + "\r\n").isComplete)
    #expect(readRequests(start + String(repeating: "a:\r\n", count: 256) + "\r\n").failure?.status == 431)
    let names = String(repeating: "a,", count: 255)
    #expect(readRequests("\(start)Connection: \(names)\r\n\r\n").failure?.status == 431)
  }

  @Test("a response head above the limit is refused")
  func responseHead() {
    #expect(readResponse("HTTP/1.1 200 \(Self.fill(16 * 1024))").failure?.code == .tooLarge)
    #expect(readResponse("HTTP/1.1 200 OK\r\nX: \(Self.fill(65_536))").failure?.code == .tooLarge)
    let many = String(repeating: "a:\r\n", count: 257)
    #expect(readResponse("HTTP/1.1 200 OK\r\n\(many)\r\n").failure?.code == .tooLarge)
  }

  @Test("chunk extensions above the limit are refused")
  func extensions() {
    #expect(readRequests("\(Self.chunked)1;\(Self.fill(1022))\r\na\r\n0\r\n\r\n").isComplete)
    #expect(readRequests("\(Self.chunked)1;\(Self.fill(1023))\r\na\r\n0\r\n\r\n").failure?.code == .tooLarge)
    #expect(readRequests("\(Self.chunked)1;\(Self.fill(1025))").failure?.code == .tooLarge)
    #expect(readRequests(Self.chunked + String(repeating: "0", count: 2000)).failure?.code == .tooLarge)
  }

  @Test("trailers above the limit are refused")
  func trailers() {
    let last = Self.chunked + "0\r\n"
    #expect(readRequests(last + String(repeating: "a:\r\n", count: 64) + "\r\n").isComplete)
    #expect(readRequests(last + String(repeating: "a:\r\n", count: 65) + "\r\n").failure?.status == 431)
    #expect(readRequests("\(last)X: \(Self.fill(16 * 1024))").failure?.status == 431)
  }

  @Test("every field of the configuration takes effect")
  func configuration() {
    func status(_ text: String, _ change: (inout HTTP1Configuration) -> Void) -> Int? {
      var configuration = HTTP1Configuration.defaults
      change(&configuration)
      return readRequests([bytes(text)], configuration: configuration).failure?.status
    }
    let get = "GET /abcdef HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n"
    #expect(status(get) { $0.head.startLineSize = 19 } == 414)
    #expect(status(get) { $0.head.startLineSize = 20 } == nil)
    #expect(status(get) { $0.head.size = 22 + 9 + 5 } == 431)
    #expect(status(get) { $0.head.size = 22 + 9 + 6 } == nil)
    #expect(status(get) { $0.head.fieldCount = 1 } == 431)
    #expect(status(get) { $0.head.fieldCount = 2 } == nil)
    let post = Self.chunked + "1;ab\r\na\r\n0\r\nX: y\r\n\r\n"
    #expect(status(post) { $0.chunks.headerSize = 3 } == 400)
    #expect(status(post) { $0.chunks.headerSize = 4 } == nil)
    #expect(status(post) { $0.chunks.trailerSize = 5 } == 431)
    #expect(status(post) { $0.chunks.trailerSize = 6 } == nil)
    #expect(status(post) { $0.chunks.trailerCount = 0 } == 431)
    #expect(status(post) { $0.chunks.trailerCount = 1 } == nil)

    var configuration = HTTP1Configuration.defaults
    configuration.informationalResponses = 0
    let early = readResponse([bytes("HTTP/1.1 100 Continue\r\n\r\n")], configuration: configuration)
    #expect(early.failure?.code == .tooLarge)
  }

  @Test(
    "a configuration field out of range is reported by name",
    arguments: [
      "head.startLineSize", "head.size", "head.fieldCount", "chunks.headerSize", "chunks.trailerSize",
      "chunks.trailerCount", "informationalResponses",
    ])
  func check(_ field: String) throws {
    try HTTP1Configuration.defaults.check()
    var configuration = HTTP1Configuration.defaults
    switch field {
    case "head.startLineSize": configuration.head.startLineSize = 1
    case "head.size": configuration.head.size = configuration.head.startLineSize - 1
    case "head.fieldCount": configuration.head.fieldCount = 0
    case "chunks.headerSize": configuration.chunks.headerSize = 0
    case "chunks.trailerSize": configuration.chunks.trailerSize = -1
    case "chunks.trailerCount": configuration.chunks.trailerCount = -1
    default: configuration.informationalResponses = -1
    }
    let failure = #expect(throws: HTTP1Failure.self) { try configuration.check() }
    #expect(failure?.code == .invalidConfiguration)
    #expect(failure?.message.hasPrefix("\(field) is ") == true)
  }

  @Test("a head that arrives byte by byte is parsed once, not once for every byte", .timeLimit(.minutes(1)))
  func drip() throws {
    var configuration = HTTP1Configuration.defaults
    configuration.head.size = 1 << 22
    var parser = RequestParser(configuration: configuration)
    let text = bytes("GET / HTTP/1.1\r\nHost: h\r\nX: \(Self.fill(1 << 18))\r\n\r\n")
    // A scan for every byte would take 3 * 10^10 steps: minutes in place of a moment.
    var events = 0
    for byte in text {
      parser.receive(ByteBuffer(integer: byte))
      while try parser.nextEvent() != nil { events += 1 }
    }
    #expect(events == 2)
  }
}
