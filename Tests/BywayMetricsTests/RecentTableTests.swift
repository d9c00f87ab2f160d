import Testing

@testable import BywayMetrics

@Suite struct RecentTableTests {
  @Test("a value is created once for each key, and the number of keys is limited")
  func bounded() {
    var table = RecentTable<Int, String>()
    var made = 0
    func value(_ key: Int) -> String {
      table.value(for: key) { isFull in
        made += 1
        return isFull ? "other" : "\(key)"
      }
    }
    for _ in 0..<3 {
      for key in 0..<1000 { #expect(value(key) == "\(key)") }
    }
    #expect(made == 1000)
    #expect(value(1000) == "other" && value(1001) == "other" && value(1000) == "other" && value(7) == "7")
    #expect(made == 1003)
  }
}
