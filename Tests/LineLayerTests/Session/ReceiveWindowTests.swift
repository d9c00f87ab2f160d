import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("Receive window")
struct ReceiveWindowTests {
  private func delivered(_ window: inout ReceiveWindow) -> [UInt8] {
    var bytes: [UInt8] = []
    while let piece = window.takeNext() { bytes += piece }
    return bytes
  }

  @Test("the receive window puts frames in order, and reports each new gap once")
  func order() {
    var window = ReceiveWindow(capacity: 160)
    #expect(window.receive(number: 1, payload: [2], isLast: false) == .ahead(isNewGap: true))
    #expect(window.receive(number: 2, payload: [3], isLast: false) == .ahead(isNewGap: false))
    #expect(window.receive(number: 4, payload: [5], isLast: false) == .ahead(isNewGap: true))
    #expect(window.arrivals(within: 32) == Arrivals(next: 0, runs: [1, 2, 1, 1]))
    #expect(delivered(&window).isEmpty)
    #expect(window.receive(number: 0, payload: [1], isLast: false) == .inOrder)
    #expect(delivered(&window) == [1, 2, 3])
    #expect(window.arrivals(within: 32) == Arrivals(next: 3, runs: [1, 1]))
  }

  @Test("the receive window recognizes duplicates", arguments: [0, 1, 3, 65_000] as [UInt16])
  func duplicates(_ number: UInt16) {
    var window = ReceiveWindow(capacity: 160)
    _ = window.receive(number: 0, payload: [1], isLast: false)
    _ = window.receive(number: 1, payload: [2], isLast: false)
    _ = window.receive(number: 3, payload: [4], isLast: false)
    #expect(window.receive(number: number, payload: [9], isLast: false) == .duplicate)
    #expect(delivered(&window) == [1, 2])
  }

  @Test("the receive window rejects frames beyond what it has offered, in order or ahead of a gap")
  func capacity() {
    var window = ReceiveWindow(capacity: 64)
    let two = [UInt8](repeating: 7, count: 20)[...]
    #expect(window.window == 4)
    #expect(window.receive(number: 2, payload: two, isLast: false) == .ahead(isNewGap: true))
    #expect(window.receive(number: 3, payload: two, isLast: false) == .refused)
    #expect(window.receive(number: 4, payload: [1], isLast: false) == .refused)
    #expect(window.receive(number: 30_000, payload: [1], isLast: false) == .refused)
    #expect(window.receive(number: 0, payload: two, isLast: false) == .inOrder)
    #expect(window.unread == 40 && window.window == 1)
    #expect(window.receive(number: 4, payload: two, isLast: false) == .refused)
    window.consumed(40)
    #expect(window.window == 4)
    #expect(window.receive(number: 4, payload: two, isLast: false) == .inOrder)
  }

  @Test(
    "the receive window rejects an empty frame unless it is the last of the stream and within the window",
    arguments: [true, false])
  func empty(_ isAhead: Bool) {
    var window = ReceiveWindow(capacity: 64)
    let all = [UInt8](repeating: 7, count: 48)[...]
    #expect(window.receive(number: 0, payload: [], isLast: false) == .refused)
    #expect(window.receive(number: 4, payload: [], isLast: true) == .refused)
    if isAhead { #expect(window.receive(number: 3, payload: [], isLast: true) == .ahead(isNewGap: true)) }
    #expect(window.receive(number: 0, payload: all, isLast: false) == .inOrder)
    if !isAhead { #expect(window.receive(number: 3, payload: [], isLast: true) == .inOrder) }
    #expect(window.isFinished && window.next == 4 && delivered(&window).count == 48)
  }

  @Test("if there are more gaps than the list can hold, the receive window reports the nearest ones")
  func manyGaps() {
    var window = ReceiveWindow(capacity: 16_000)
    for number in stride(from: 1 as UInt16, to: 201, by: 2) {
      _ = window.receive(number: number, payload: [1], isLast: false)
    }
    #expect(window.arrivals(within: 32).runs == [UInt16](repeating: 1, count: 31))
    _ = window.receive(number: 800, payload: [1], isLast: false)
    for number in 0..<200 { _ = window.receive(number: UInt16(number), payload: [1], isLast: false) }
    #expect(window.arrivals(within: 32) == Arrivals(next: 200, runs: [600, 1]))
  }

  @Test("the receive window finishes with the last frame, and rejects frames after it")
  func last() {
    var window = ReceiveWindow(capacity: 160)
    #expect(window.receive(number: 1, payload: [2], isLast: true) == .ahead(isNewGap: true))
    #expect(window.receive(number: 2, payload: [3], isLast: false) == .refused)
    #expect(window.receive(number: 0, payload: [3], isLast: true) == .refused)
    #expect(!window.isFinished)
    #expect(window.receive(number: 0, payload: [1], isLast: false) == .inOrder)
    #expect(window.isFinished && delivered(&window) == [1, 2])
    #expect(window.receive(number: 2, payload: [3], isLast: false) == .refused)
    #expect(window.receive(number: 1, payload: [2], isLast: true) == .duplicate)
  }

  // MARK: Pieces

  /// 100 bytes: seven units from number 5 on, the last of four.
  private static let whole = (0..<100).map { UInt8($0) }

  private static func piece(_ units: Range<Int>) -> ArraySlice<UInt8> {
    whole[units.lowerBound * 16..<min(units.upperBound * 16, 100)]
  }

  @Test("the receive window assembles a stream from overlapping pieces in any order")
  func overlaps() {
    var random = SplitMix64(seed: 5)
    for turn in 0..<2000 {
      var window = ReceiveWindow(capacity: 1024)
      _ = window.receive(number: 0, payload: [UInt8](repeating: 9, count: 80)[...], isLast: false)
      var bytes = Array(delivered(&window).dropFirst(80))
      var pieces = 0
      while bytes.count < 100, pieces < 1000 {
        let start = Int.random(in: 0..<7, using: &random)
        let units = start..<Int.random(in: (start + 1)...7, using: &random)
        _ = window.receive(number: UInt16(5 + start), payload: Self.piece(units), isLast: units.upperBound == 7)
        bytes += delivered(&window)
        pieces += 1
      }
      guard bytes == Self.whole, window.isFinished, window.next == 12, !window.hasGap, window.unread == 180 else {
        Issue.record("wrong at turn \(turn)")
        return
      }
    }
  }

  @Test("from a late frame, the receive window takes only the units that are still missing")
  func late() {
    var window = ReceiveWindow(capacity: 1024)
    #expect(window.receive(number: 2, payload: Self.piece(2..<4), isLast: false) == .ahead(isNewGap: true))
    #expect(window.receive(number: 0, payload: Self.piece(0..<1), isLast: false) == .inOrder)
    #expect(window.receive(number: 0, payload: Self.piece(0..<7), isLast: false) == .inOrder)
    #expect(delivered(&window) == Self.whole && window.unread == 100)
    #expect(window.receive(number: 0, payload: Self.piece(0..<7), isLast: false) == .duplicate)
  }

  @Test("if a peer sends a unit again with other content, the receive window keeps the first")
  func contradiction() {
    var window = ReceiveWindow(capacity: 1024)
    _ = window.receive(number: 1, payload: [1, 2, 3], isLast: false)
    _ = window.receive(number: 0, payload: [UInt8](repeating: 9, count: 40)[...], isLast: false)
    #expect(delivered(&window) == [UInt8](repeating: 9, count: 16) + [1, 2, 3] + [UInt8](repeating: 9, count: 8))
    #expect(window.next == 3 && window.unread == 27)
  }

  @Test("the receive window delivers 200,000 shuffled frames in order, past the wrap-around of unit numbers")
  func shuffled() {
    var window = ReceiveWindow(capacity: 16_384)
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
  @Test("the queue returns elements in the order in which they were appended")
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
