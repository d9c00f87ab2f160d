import Testing

@testable import Byway

@Suite struct MessageCutterTests {
  @Test("a cut message has all whole frames that fit")
  func frames() {
    var cutter = MessageCutter(limit: 8)
    cutter.add([1, 2, 0, 3, 0, 4, 5, 6])
    #expect(cutter.next == [1, 2, 0, 3, 0])
    cutter.remove(5)
    #expect(cutter.pending == [4, 5, 6] && cutter.room == 5)
    cutter.add([0])
    #expect(cutter.next == [4, 5, 6, 0])
  }

  @Test("an incomplete frame is sent without waiting for its end")
  func partialFrame() {
    var cutter = MessageCutter(limit: 8)
    cutter.add([1, 2, 3])
    #expect(cutter.next == [1, 2, 3])
  }

  @Test("a frame larger than a message fills several messages")
  func largeFrame() {
    var cutter = MessageCutter(limit: 4)
    cutter.add([1, 2, 3, 4])
    #expect(cutter.room == 0 && cutter.next == [1, 2, 3, 4])
    cutter.remove(4)
    #expect(cutter.next == nil && cutter.room == 4)
  }

  @Test("a message cutter takes at most one message at a time")
  func room() {
    var cutter = MessageCutter(limit: 4)
    cutter.add([1, 2, 3, 4, 5, 0])
    #expect(cutter.room == 0)
    #expect(cutter.next == [1, 2, 3, 4])
  }
}
