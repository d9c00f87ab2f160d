import Testing

@testable import Byway

@Suite struct RecentlyUsedTests {
  @Test("the least recently used entry is evicted first, whatever the order of insertion")
  func order() {
    var kept = RecentlyUsed<String, Int>(limit: 2)
    #expect(kept.insert(1, for: "a") == nil)
    #expect(kept.insert(2, for: "b") == nil)
    #expect(kept.value(for: "a") == 1)
    #expect(kept.insert(3, for: "c") == 2)
    #expect(kept.values.sorted() == [1, 3])
  }

  @Test("a new value replaces the old one of its key")
  func replaced() {
    var kept = RecentlyUsed<String, Int>(limit: 2)
    _ = kept.insert(1, for: "a")
    _ = kept.insert(2, for: "b")
    #expect(kept.insert(3, for: "a") == 1)
    #expect(kept.values.sorted() == [2, 3])
  }
}
