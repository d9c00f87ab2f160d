import HTTPWire
import TestTools
import Testing

@testable import HTTP2Session

@Suite struct StreamTableTests {
  @Test("agrees with a dictionary", arguments: 1...20 as ClosedRange<UInt64>) func random(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var table = StreamTable()
    var model: [StreamID: HTTP2Stream] = [:]
    // Few enough numbers to meet again, and far enough apart to collide.
    let numbers = (0..<200 as Range<StreamID>).map { $0 * (seed.isMultiple(of: 2) ? 2 : 65_536) + 1 }
    for _ in 0..<3000 {
      guard let id = numbers.randomElement(using: &random) else { break }
      if model[id] == nil, random.chance(50) {
        let stream = HTTP2Stream(id: id, window: 0, readAhead: ReadAhead(), audience: .owner)
        table.insert(stream)
        model[id] = stream
      } else {
        #expect(table.remove(id) === model.removeValue(forKey: id), "seed \(seed)")
      }
      #expect(table.count == model.count && table.isEmpty == model.isEmpty)
    }
    for id in numbers { #expect(table[id] === model[id], "seed \(seed)") }
    #expect(table.all.map(\.id) == model.keys.sorted())
  }
}
