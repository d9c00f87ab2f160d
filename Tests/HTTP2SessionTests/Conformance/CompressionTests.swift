import BywayHTTP2Session
import Testing

/// RFC 7541.
@Suite struct CompressionTests {
  @Test("RFC 7541: header blocks that cannot be decoded", arguments: cases) func blocks(_ conformance: ConformanceCase)
  {
    conformance.check()
  }

  private static let broken = ConformanceCase.Verdict.connectionError([.compressionError])

  static let cases: [ConformanceCase] = [
    .init("2.3.3 an index beyond both tables", [.headers(1, HPACK.get + [0xC6])], broken),
    .init("6.1 index 0", [.headers(1, HPACK.get + [0x80])], broken),
    .init("2.3.3 a name index beyond both tables", [.headers(1, HPACK.get + [0x7F, 0x40, 0x01, 0x61])], broken),
    .init("4.2 a table size above our limit", [.headers(1, [0x3F, 0xE2, 0x1F] + HPACK.get)], broken),
    .init("4.2 a table size update after a field", [.headers(1, HPACK.get + [0x20])], broken),
    .init("4.2 a table size update at the start", [.headers(1, [0x20] + HPACK.get)], .answered(1)),
    .init("5.1 an integer that does not end", [.headers(1, [0xFF] + Array(repeating: 0xFF, count: 12))], broken),
    .init("5.2 a Huffman string padded with zeros", [.headers(1, HPACK.get + [0x00, 0x01, 0x78, 0x81, 0x00])], broken),
    .init(
      "5.2 a Huffman string padded by more than seven bits",
      [.headers(1, HPACK.get + [0x00, 0x01, 0x78, 0x82, 0x1F, 0xFF])], broken),
    .init(
      "5.2 a Huffman string that contains EOS",
      [.headers(1, HPACK.get + [0x00, 0x01, 0x78, 0x84, 0xFF, 0xFF, 0xFF, 0xFF])], broken),
    .init(
      "5.2 a valid Huffman string", [.headers(1, HPACK.get + [0x00, 0x01, 0x78, 0x81, 0x1F])], .answered(1)),
    .init("6.2 a literal longer than its block", [.headers(1, HPACK.get + [0x00, 0x7E, 0x61])], broken),
  ]

  @Test("the header table stays in sync after a refused head") func tableSurvives() {
    let client = RawClient()
    // The first head is malformed, and adds x: 1 to the table; the second one refers to that entry.
    client.send(.headers(1, [0x40, 0x01, 0x78, 0x01, 0x31]))
    client.send(.headers(3, HPACK.get + [0xBE]))
    #expect(client.isAnswered(3))
  }
}
