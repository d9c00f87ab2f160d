import BywayLineEmulation
import Testing

/// An example of a program under test: lines of text, each with its number and the sum of its bytes in front.
struct NumberedLines {
  private var unread: [UInt8] = []
  private(set) var numbers: [Int] = []

  static func line(_ number: Int, _ text: String) -> [UInt8] {
    let text = "\(number) \(text)"
    return Array("\(sum(of: text)) \(text)\n".utf8)
  }

  mutating func read(_ bytes: [UInt8]) {
    unread += bytes
    while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
      let parts = String(decoding: unread[..<end], as: UTF8.self).split(separator: " ", maxSplits: 2)
      unread.removeSubrange(...end)
      guard parts.count == 3, let number = Int(parts[1]), parts[0] == "\(Self.sum(of: "\(number) \(parts[2])"))" else {
        continue
      }
      numbers.append(number)
    }
  }

  private static func sum(of text: String) -> Int { text.utf8.reduce(0) { $0 + Int($1) } }
}

@Suite("Example of a reader on a bad line")
struct NumberedLinesTests {
  @Test("a reader with checksums skips damaged lines and never accepts one", arguments: 1...20 as ClosedRange<UInt64>)
  func reads(seed: UInt64) {
    var link = VirtualLink(LineConfiguration(baud: 9600, faults: [DroppedBytes(rate: 0.005)]), seed: seed)
    var reader = NumberedLines()
    for number in 1...100 {
      link.send(NumberedLines.line(number, "21.5 degrees"), from: .a)
      link.advance(by: .milliseconds(100))
      reader.read(link.receive(at: .b))
    }
    #expect(reader.numbers == reader.numbers.sorted(), "seed \(seed)")
    #expect((50..<100).contains(reader.numbers.count), "seed \(seed)")
  }
}
