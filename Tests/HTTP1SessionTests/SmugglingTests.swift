import BywayHTTP1Session
import HTTP1Checks
import Testing

/// Messages that hops have been known to interpret differently. Each must be refused before anything after it is parsed as a
/// request.
@Suite("Request smuggling")
struct SmugglingTests {
  @Test(
    "a request that two hops may frame differently is refused",
    arguments: [
      ("CL.TE", "Content-Length: 6\r\nTransfer-Encoding: chunked"),
      ("TE.CL", "Transfer-Encoding: chunked\r\nContent-Length: 6"),
      ("CL.CL", "Content-Length: 6\r\nContent-Length: 5"),
      ("CL.CL in one line", "Content-Length: 6, 5"),
      ("CL with a sign", "Content-Length: +6"),
      ("negative CL", "Content-Length: -6"),
      ("hexadecimal CL", "Content-Length: 0x6"),
      ("CL with a space within", "Content-Length: 6 6"),
      ("CL with a NUL", "Content-Length: 6\u{0}"),
      ("CL with a vertical tab", "Content-Length: \u{B}6"),
      ("CL with a fraction", "Content-Length: 6.0"),
      ("CL with an underscore", "Content-Length: 1_0"),
      ("empty CL", "Content-Length: "),
      ("empty member of CL", "Content-Length: 6,"),
      ("space before the colon", "Transfer-Encoding : chunked"),
      ("tab before the colon", "Transfer-Encoding\t: chunked"),
      ("chunked not last", "Transfer-Encoding: chunked, identity"),
      ("chunked not last, on two lines", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
      ("chunked not last, after something", "Transfer-Encoding: gzip, chunked, gzip"),
      ("chunked twice", "Transfer-Encoding: chunked, chunked"),
      ("identity", "Transfer-Encoding: identity"),
      ("near chunked", "Transfer-Encoding: xchunked"),
      ("quoted", "Transfer-Encoding: \"chunked\""),
      ("with parameter", "Transfer-Encoding: chunked; x=1"),
      ("vertical tab", "Transfer-Encoding: \u{B}chunked"),
      ("form feed", "Transfer-Encoding: chunked\u{C}"),
      ("NUL", "Transfer-Encoding: chunked\u{0}"),
      ("empty TE", "Transfer-Encoding: "),
      ("obs-fold", "Transfer-Encoding:\r\n chunked"),
      ("obs-fold by tab", "X: a\r\n\tTransfer-Encoding: chunked"),
      ("first field folded", " X: a\r\nTransfer-Encoding: chunked"),
      ("lone LF", "X: a\nTransfer-Encoding: chunked"),
      ("lone CR", "X: a\rTransfer-Encoding: chunked"),
      ("CR CR LF", "X: a\r\r\nTransfer-Encoding: chunked"),
      ("NUL in a value", "X: a\u{0}b"),
      ("DEL in a value", "X: a\u{7F}b"),
      ("NUL in a name", "X\u{0}: a"),
      ("obs-text in a name", "X\u{E9}: a"),
      ("no colon", "Transfer-Encoding"),
      ("no name", ": chunked"),
      ("pseudo-header field", ":path: /admin"),
      ("two hosts", "Host: other"),
    ])
  func ambiguousFraming(_ name: String, _ fields: String) {
    let text = "POST / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n\r\n0\r\n\r\nGET /admin HTTP/1.1\r\nHost: h\r\n\r\n"
    let outcome = readRequests(text)
    #expect(outcome.failure?.status == 400, "\(name)")
    #expect(outcome.events.isEmpty, "\(name)")
  }

  @Test("an unknown transfer coding gets 501, and a length that overflows 413")
  func otherStatuses() {
    func status(_ fields: String) -> Int? {
      readRequests("POST / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n\r\n").failure?.status
    }
    #expect(status("Transfer-Encoding: gzip, chunked") == 501)
    #expect(status("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked") == 501)
    #expect(status("Content-Length: 9223372036854775808") == 413)
    #expect(status("Content-Length: 18446744073709551622") == 413)
  }

  @Test("chunks in HTTP/1.0, and a body of CONNECT, are refused")
  func wrongPlace() {
    #expect(readRequests("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").failure?.status == 400)
    let connect = "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n"
    #expect(readRequests(connect + "Content-Length: 1\r\n\r\n").failure?.status == 400)
    #expect(readRequests(connect + "Transfer-Encoding: chunked\r\n\r\n").failure?.status == 400)
  }

  @Test(
    "a malformed chunk is refused",
    arguments: [
      "0x5\r\nhello\r\n", "-5\r\nhello\r\n", "+5\r\nhello\r\n", " 5\r\nhello\r\n", "5 \r\nhello\r\n",
      "5\t\r\nhello\r\n",
      "5 5\r\nhello\r\n", "\r\nhello\r\n", "g\r\nhello\r\n", ";a\r\nhello\r\n", "5\nhello\r\n", "5\rX\nhello\r\n",
      "5\u{0}\r\nhello\r\n", "5;a\nb\r\nhello\r\n", "5;a\rb\r\nhello\r\n", "5;\u{0}\r\nhello\r\n",
      "5\r\nhelloX\r\n", "5\r\nhello\n", "5\r\nhello\r\r\n", "5\r\nhell\r\n", "5\r\nhello0\r\n",
      "5_0\r\nhello\r\n", "5,5\r\nhello\r\n", "5.\r\nhello\r\n",
    ])
  func badChunk(_ chunk: String) {
    let outcome = readRequests(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)0\r\n\r\n")
    #expect(outcome.failure?.status == 400)
    #expect(!outcome.events.contains(.end(nil)))
  }

  @Test(
    "an overflow of a chunk's size is detected",
    arguments: [
      "8000000000000000", "FFFFFFFFFFFFFFFF", "10000000000000005", "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFB",
      "0000000000000000000000010000000000000005",
    ])
  func chunkOverflow(_ size: String) {
    let outcome = readRequests(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\nhello\r\n0\r\n\r\n")
    #expect(outcome.failure?.status == 413)
  }

  @Test("leading zeros in a chunk's size are accepted")
  func leadingZeros() {
    let outcome = readRequests(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n00000000000000000005\r\nhello\r\n000\r\n\r\n")
    #expect(outcome.body == "hello")
    #expect(outcome.isComplete)
  }

  @Test(
    "malformed trailers are refused",
    arguments: ["X : y\r\n", " X: y\r\n", "X: a\nY: b\r\n", "X: a\r\n b\r\n", "X\r\n", "X: \u{0}\r\n", ":path: /\r\n"])
  func badTrailers(_ trailers: String) {
    let outcome = readRequests(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\(trailers)\r\n")
    #expect(outcome.failure?.status == 400)
  }

  @Test("framing and routing fields are removed from trailers")
  func hostileTrailers() {
    let outcome = readRequests(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 9\r\nHost: other\r\n"
        + "Transfer-Encoding: chunked\r\nConnection: close\r\nTE: x\r\nCookie: a\r\nByway-Target-Form: absolute\r\n"
        + "X: y\r\n\r\n")
    #expect(outcome.events.last == .end(["x": "y"]))
  }
}
