import Testing

@testable import BywayHTTP2Session

@Suite struct EngineMemoryTests {
  private let memory = EngineMemory()

  @Test("the engine's allocator reuses released memory", arguments: [1, 64, 65, 512]) func again(_ size: Int) {
    let piece = memory.take(size)
    memory.giveBack(piece)
    #expect(memory.take(size) == piece)
    #expect(memory.take(size) != piece)
  }

  @Test("the engine's allocator clears reused memory if requested", arguments: [8, 100, 5000]) func zeroes(_ size: Int)
    throws
  {
    let used = try #require(memory.take(size))
    used.initializeMemory(as: UInt8.self, repeating: 0xFF, count: size)
    memory.giveBack(used)
    let piece = try #require(memory.takeZeroed(size, 1))
    #expect(UnsafeRawBufferPointer(start: piece, count: size).allSatisfy { $0 == 0 })
  }

  @Test("memory that is resized keeps its content", arguments: [(1, 64), (60, 600), (600, 6000), (6000, 60)])
  func grows(_ sizes: (before: Int, after: Int)) throws {
    let piece = try #require(memory.take(sizes.before))
    piece.initializeMemory(as: UInt8.self, repeating: 0x55, count: sizes.before)
    let larger = try #require(memory.resize(piece, sizes.after))
    let kept = UnsafeRawBufferPointer(start: larger, count: min(sizes.before, sizes.after))
    #expect(kept.allSatisfy { $0 == 0x55 })
    memory.giveBack(larger)
  }

  @Test("an allocation beyond all memory fails") func tooLarge() {
    #expect(memory.take(.max) == nil)
    #expect(memory.takeZeroed(.max, 2) == nil)
    memory.giveBack(nil)
  }
}
