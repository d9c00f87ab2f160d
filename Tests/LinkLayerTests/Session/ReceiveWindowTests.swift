import LineEmulation
import Testing

@testable import LinkLayer

@Suite("Receive window")
struct ReceiveWindowTests {
  private func delivered(_ window: inout ReceiveWindow) -> [UInt8] {
    var bytes: [UInt8] = []
    while let piece = window.takeNext() { bytes += piece }
    return bytes
  }

  @Test("puts frames in order, and tells of a gap once")
  func order() {
    var window = ReceiveWindow(capacity: 100)
    #expect(window.receive(number: 1, payload: [2], isLast: false) == .ahead(isNewGap: true))
    #expect(window.receive(number: 2, payload: [3], isLast: false) == .ahead(isNewGap: false))
    #expect(window.receive(number: 4, payload: [5], isLast: false) == .ahead(isNewGap: true))
    #expect(window.arrived == [0b1011])
    #expect(delivered(&window).isEmpty)
    #expect(window.receive(number: 0, payload: [1], isLast: false) == .inOrder)
    #expect(delivered(&window) == [1, 2, 3])
    #expect(window.next == 3 && window.hasGap && window.arrived == [0b1])
  }

  @Test("knows a frame that it has had", arguments: [0, 1, 3, 65_000] as [UInt16])
  func duplicates(_ number: UInt16) {
    var window = ReceiveWindow(capacity: 100)
    _ = window.receive(number: 0, payload: [1], isLast: false)
    _ = window.receive(number: 1, payload: [2], isLast: false)
    _ = window.receive(number: 3, payload: [4], isLast: false)
    #expect(window.receive(number: number, payload: [9], isLast: false) == .duplicate)
    #expect(delivered(&window) == [1, 2])
  }

  @Test("takes no more than it has offered, in order or ahead")
  func capacity() {
    var window = ReceiveWindow(capacity: 10)
    let six: ArraySlice<UInt8> = [1, 2, 3, 4, 5, 6]
    #expect(window.receive(number: 1, payload: six, isLast: false) == .ahead(isNewGap: true))
    #expect(window.receive(number: 2, payload: six, isLast: false) == .refused)
    #expect(window.receive(number: 0, payload: [0, 0, 0, 0], isLast: false) == .inOrder)
    #expect(window.window == 0)
    #expect(window.receive(number: 2, payload: [1], isLast: false) == .refused)
    #expect(window.receive(number: 2, payload: [], isLast: false) == .inOrder)
    window.consumed(10)
    #expect(window.window == 10)
    #expect(window.receive(number: 3, payload: six, isLast: false) == .inOrder)
  }

  @Test("takes no frame that is further ahead than an acknowledgement can tell")
  func farAhead() {
    var window = ReceiveWindow(capacity: 1_000_000)
    #expect(window.receive(number: 1025, payload: [1], isLast: false) == .refused)
    #expect(window.receive(number: 30_000, payload: [1], isLast: false) == .refused)
    #expect(window.receive(number: 1024, payload: [1], isLast: false) == .ahead(isNewGap: true))
    #expect(window.arrived.count == 128 && window.arrived.last == 0x80)
  }

  @Test("ends with the last frame, and takes nothing after it")
  func last() {
    var window = ReceiveWindow(capacity: 100)
    #expect(window.receive(number: 1, payload: [2], isLast: true) == .ahead(isNewGap: true))
    #expect(!window.isFinished)
    #expect(window.receive(number: 0, payload: [1], isLast: false) == .inOrder)
    #expect(window.isFinished && delivered(&window) == [1, 2])
    #expect(window.receive(number: 2, payload: [3], isLast: false) == .refused)
    #expect(window.receive(number: 1, payload: [2], isLast: true) == .duplicate)
  }

  @Test("delivers 200,000 shuffled frames in order, past the end of the numbers")
  func shuffled() {
    var window = ReceiveWindow(capacity: 4096)
    var random = SplitMix64(seed: 3)
    var sent = 0
    while sent < 200_000 {
      let batch = (sent..<min(sent + 500, 200_000)).shuffled(using: &random)
      for index in batch {
        let payload = [UInt8(truncatingIfNeeded: index), UInt8(truncatingIfNeeded: index >> 8)]
        _ = window.receive(number: UInt16(truncatingIfNeeded: index), payload: payload[...], isLast: false)
      }
      let bytes = delivered(&window)
      let expected = (sent..<(sent + batch.count)).flatMap {
        [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)]
      }
      guard bytes == expected else {
        Issue.record("wrong from \(sent) on")
        return
      }
      window.consumed(bytes.count)
      sent += batch.count
    }
  }
}

@Suite("Queue")
struct QueueTests {
  @Test("gives back in order what it was given, and frees its front")
  func order() {
    var queue = Queue<Int>()
    var next = 0
    for value in 0..<1000 {
      queue.append(value)
      if value % 3 > 0 {
        #expect(queue.popFirst() == next)
        next += 1
        #expect(queue.count == value + 1 - next)
      }
      if !queue.isEmpty { #expect(queue[0] == next) }
    }
  }
}
