import BywayHTTPWire
import TestTools
import Testing

@Suite struct StreamTableTests {
  @Test(
    "a stream table behaves like a dictionary", arguments: 1...20 as ClosedRange<UInt64>) func random(_ seed: UInt64)
  {
    var random = SeededRandom(seed: seed)
    var table = StreamTable<Int>()
    var model: [StreamID: Int] = [:]
    // Few enough ids to repeat, and spaced so that they collide or are adjacent.
    let numbers = (0..<200 as Range<StreamID>).map { $0 * (seed.isMultiple(of: 2) ? 2 : 65_536) + 1 }
    for step in 0..<3000 {
      guard let id = numbers.randomElement(using: &random) else { break }
      if random.chance(50) {
        table[id] = step
        model[id] = step
      } else {
        #expect(table.remove(id) == model.removeValue(forKey: id), "seed \(seed)")
      }
      #expect(table.count == model.count && table.isEmpty == model.isEmpty)
      #expect(table.contains(id) == (model[id] != nil), "seed \(seed)")
    }
    for id in numbers { #expect(table[id] == model[id], "seed \(seed)") }
    #expect(table.values == model.sorted { $0.key < $1.key }.map(\.value))
  }

  @Test("a stream table contains nothing under stream id 0") func connection() {
    let table = StreamTable<Int>()
    #expect(!table.contains(0))
    #expect(table[0] == nil)
  }
}
