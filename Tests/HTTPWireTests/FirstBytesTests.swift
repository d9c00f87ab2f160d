import BywayHTTPWire
import Testing

@Suite struct FirstBytesTests {
  @Test(
    "the first bytes of a client tell its HTTP version, or that it speaks no HTTP",
    arguments: [
      ("", FirstBytes.partOfPreface), ("P", .partOfPreface), ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r", .partOfPreface),
      ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .preface), ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0", .preface),
      // A request whose method begins as the preface does.
      ("PR", .partOfPreface), ("PRO", .partOfMethod), ("PROPFIND", .partOfMethod), ("PROPFIND ", .method),
      ("PRI * HTTP/2.0\r\n\r\nXX", .method), ("GET / HTTP/1.1\r\n", .method), ("M-SEARCH *", .method),
      ("UPDATEREDIRECTREF /", .method), (String(repeating: "A", count: 24), .partOfMethod),
      (String(repeating: "A", count: 24) + " ", .method), (String(repeating: "A", count: 25), .neither),
      (String(repeating: "A", count: 25) + " ", .neither),
      ("HTTP/1.1 400 Bad Request", .neither), ("HTTP", .partOfMethod), ("SSH-2.0-OpenSSH_9.2", .neither),
      ("device login: ", .neither), ("-GET /", .neither), (" GET /", .neither), ("\r\nGET /", .neither),
      ("\u{16}\u{3}\u{1}", .neither), ("GET\t/", .neither), ("GET\r\n", .neither), ("\0", .neither),
    ])
  func version(_ text: String, _ expected: FirstBytes) {
    #expect(FirstBytes(text.utf8) == expected)
    #expect(FirstBytes(Array(text.utf8)) == expected)
  }
}
