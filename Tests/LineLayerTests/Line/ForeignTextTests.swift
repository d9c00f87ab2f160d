import Testing

@testable import BywayLineLayer

/// Text of other writers on a line.
@Suite("Foreign text") struct ForeignTextTests {
  private func said(_ bytes: [UInt8]...) -> String {
    var layer = LineLayer(.listener(incarnation: 1), configuration: LineLayerConfiguration(), at: 0)
    for piece in bytes { layer.receive(piece, at: 1) }
    return String(decoding: layer.statistics.foreignText.bytes, as: UTF8.self)
  }

  @Test("the statistics keep text between frames, and ignore noise and short runs")
  func text() {
    #expect(said(Array("U-Boot 2024\r\nHit any".utf8), Array(" key\n".utf8) + [0]) == "U-Boot 2024\r\nHit any key\n")
    #expect(said([1, 2, 3, 4, 5, 200, 0]) == "")
    #expect(said(Array("abc".utf8) + [0]) == "")
    #expect(said(Array("text with \u{7F} noise".utf8) + [0]) == "")
  }

  @Test("if text between frames is long, the statistics keep its last 512 bytes, however it is split")
  func long() {
    let text = (0..<100_000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
    let end = String(decoding: text.suffix(512), as: UTF8.self)
    #expect(said(text + [0]) == end)
    #expect(said(Array(text.prefix(60_000)), Array(text.dropFirst(60_000)), [0]) == end)
  }

  @Test("the text since a given position is returned, as far as it is kept")
  func since() {
    var text = ForeignText()
    text.add(Array("one ".utf8))
    text.add(Array("two".utf8))
    #expect(Array(text.since(4)) == Array("two".utf8) && text.since(7).isEmpty)
    text.add([UInt8](repeating: 0x61, count: 5000))
    #expect(text.since(0).count == ForeignText.most && text.count == 5007)
    // A position after the end belongs to an earlier text.
    #expect(text.since(9000).count == ForeignText.most)
  }
}
