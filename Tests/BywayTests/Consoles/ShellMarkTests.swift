import Testing

@testable import Byway

/// Marks that a running shell prints.
@Suite struct ShellMarkTests {
  private let mark = ShellMark("E", seed: 0x5EED_0001)
  private let printed = Array("BYWAY-E-5eed0001-".utf8)

  @Test("the command that prints a mark does not contain it")
  func command() {
    #expect(mark.printed == printed)
    #expect(mark.command() == #"echo "BY""WAY-E-5eed0001-""#)
    #expect(mark.command(status: "$?") == #"echo "BY""WAY-E-5eed0001-$?-""#)
    #expect(mark.range(in: Array(mark.command(status: "0").utf8)) == nil)
  }

  @Test("a mark is found behind a part of itself, and the first of two counts")
  func range() {
    let text = Array("xxBBYWAYBYW".utf8) + printed
    #expect(mark.range(in: text) == 11..<28)
    #expect(mark.range(in: text + text) == 11..<28)
    #expect(mark.range(in: Array("BYWAY-E-5eed0002-".utf8)) == nil)
    #expect(mark.range(in: []) == nil)
    #expect(mark.range(in: Array(printed.dropLast())) == nil)
  }

  @Test("a status counts once its dash has arrived, in whatever pieces", arguments: [0, 7, 127, 255])
  func ending(_ status: Int) {
    let text = Array("out\(String(repeating: "x", count: 40))\nBYWAY-E-5eed0001-\(status)-".utf8)
    for known in 0..<text.count {
      #expect(mark.ending(in: Array(text.prefix(known)), from: 0) == nil)
      // Only the bytes after `known` are new.
      let ending = mark.ending(in: text, from: known)
      #expect(ending?.status == status && ending?.output.count == 44, "\(known)")
    }
    #expect(mark.ending(in: Array("BYWAY-E-5eed0001--".utf8), from: 0) == nil)
    #expect(mark.ending(in: Array("BYWAY-E-5eed0001-99999999999999999999-".utf8), from: 0) == nil)
  }

  @Test("a mark is found in a stream across two reads, and after a part of itself")
  func search() {
    for cut in 0...printed.count {
      var search = ShellMarkSearch(mark)
      let text = Array("xxBBYWAYBYW".utf8) + printed
      let middle = text.count - printed.count + cut
      let isEarly = search.isEnded(by: text[..<middle])
      let isLate = isEarly || search.isEnded(by: text[middle...])
      #expect(isEarly == (cut == printed.count))
      #expect(isLate)
    }
  }

  @Test("a mark is found in a stream that comes byte by byte")
  func bytes() {
    var search = ShellMarkSearch(mark)
    let text = Array(String(repeating: "BYWAY-E-5eed0002-", count: 30).utf8) + printed
    let found = text.indices.filter { search.isEnded(by: CollectionOfOne(text[$0])) }
    #expect(found == [text.count - 1])
  }
}
