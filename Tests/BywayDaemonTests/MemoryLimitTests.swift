import Byway
import Testing

@testable import BywayDaemonProcess

@Suite struct MemoryLimitTests {
  @Test(
    "the memory budget is 64 MiB, or a quarter of a smaller process limit, and at least 1 MiB",
    arguments: [(nil, 64 << 20), (1 << 30, 64 << 20), (128 << 20, 32 << 20), (1 << 20, 1 << 20)] as [(Int?, Int)])
  func fitting(_ memory: Int?, _ limit: Int) {
    #expect(MemoryLimit.fitting(within: memory) == limit)
  }

  @Test("the limits of all parent control groups count")
  func groups() {
    #expect(MemoryLimit.groupFolders("/a/b.slice") == ["/a/b.slice", "/a", ""])
    #expect(MemoryLimit.groupFolders("/") == [""])
  }
}
